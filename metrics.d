metrics.o: live/exporter/metrics.c include/old-glibc.h \
  include/nvsnoop/decode.h include/nvsnoop/calls.h include/nvsnoop/ops.h \
  include/nvsnoop/trace.h include/nvsnoop/allocation.h \
  include/nvsnoop/record.h include/nvsnoop/count.h \
  include/nvsnoop/fault.h include/nvsnoop/graph.h \
  include/nvsnoop/image.h include/nvsnoop/nvtx.h include/nvsnoop/spool.h \
  live/exporter/metrics.h live/exporter/families.h \
  live/exporter/exposition.h live/exporter/process_labels.h \
  live/exporter/scrape.h live/exporter/series.h live/read/page_set.h \
  include/nvsnoop/live.h

include/old-glibc.h:

include/nvsnoop/decode.h:

include/nvsnoop/calls.h:

include/nvsnoop/ops.h:

include/nvsnoop/trace.h:

include/nvsnoop/allocation.h:

include/nvsnoop/record.h:

include/nvsnoop/count.h:

include/nvsnoop/fault.h:

include/nvsnoop/graph.h:

include/nvsnoop/image.h:

include/nvsnoop/nvtx.h:

include/nvsnoop/spool.h:

live/exporter/metrics.h:

live/exporter/families.h:

live/exporter/exposition.h:

live/exporter/process_labels.h:

live/exporter/scrape.h:

live/exporter/series.h:

live/read/page_set.h:

include/nvsnoop/live.h:
