http.o: live/exporter/http.c include/old-glibc.h live/exporter/http.h \
  live/exporter/exposition.h live/exporter/accept.h \
  live/exporter/profile.h live/read/page_set.h include/nvsnoop/trace.h \
  include/nvsnoop/allocation.h include/nvsnoop/record.h \
  include/nvsnoop/count.h include/nvsnoop/fault.h \
  include/nvsnoop/graph.h include/nvsnoop/image.h include/nvsnoop/nvtx.h \
  include/nvsnoop/spool.h include/nvsnoop/live.h

include/old-glibc.h:

live/exporter/http.h:

live/exporter/exposition.h:

live/exporter/accept.h:

live/exporter/profile.h:

live/read/page_set.h:

include/nvsnoop/trace.h:

include/nvsnoop/allocation.h:

include/nvsnoop/record.h:

include/nvsnoop/count.h:

include/nvsnoop/fault.h:

include/nvsnoop/graph.h:

include/nvsnoop/image.h:

include/nvsnoop/nvtx.h:

include/nvsnoop/spool.h:

include/nvsnoop/live.h:
