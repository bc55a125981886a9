page_tables.o: live/read/page_tables.c include/old-glibc.h \
  live/read/page.h live/read/page_set.h include/nvsnoop/trace.h \
  include/nvsnoop/allocation.h include/nvsnoop/record.h \
  include/nvsnoop/count.h include/nvsnoop/fault.h \
  include/nvsnoop/graph.h include/nvsnoop/image.h include/nvsnoop/nvtx.h \
  include/nvsnoop/spool.h include/nvsnoop/live.h

include/old-glibc.h:

live/read/page.h:

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
