profile.o: live/exporter/profile.c include/old-glibc.h \
  live/exporter/profile.h live/read/page_set.h include/nvsnoop/trace.h \
  include/nvsnoop/allocation.h include/nvsnoop/record.h \
  include/nvsnoop/count.h include/nvsnoop/fault.h \
  include/nvsnoop/graph.h include/nvsnoop/image.h include/nvsnoop/nvtx.h \
  include/nvsnoop/spool.h include/nvsnoop/live.h \
  live/read/record_request.h live/read/report_child.h

include/old-glibc.h:

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

live/read/record_request.h:

live/read/report_child.h:
