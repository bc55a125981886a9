process_detail.o: live/top/process_detail.c include/old-glibc.h \
  decode/base/compare.h decode/calls/args.h decode/calls/calls.h \
  include/nvsnoop/decode.h include/nvsnoop/calls.h include/nvsnoop/ops.h \
  include/nvsnoop/trace.h include/nvsnoop/allocation.h \
  include/nvsnoop/record.h include/nvsnoop/count.h \
  include/nvsnoop/fault.h include/nvsnoop/graph.h \
  include/nvsnoop/image.h include/nvsnoop/nvtx.h include/nvsnoop/spool.h \
  decode/calls/roles.h decode/calls/tally.h decode/cli/fault_names.h \
  live/top/top.h live/read/page_set.h include/nvsnoop/live.h \
  live/top/options.h live/top/text_page.h

include/old-glibc.h:

decode/base/compare.h:

decode/calls/args.h:

decode/calls/calls.h:

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

decode/calls/roles.h:

decode/calls/tally.h:

decode/cli/fault_names.h:

live/top/top.h:

live/read/page_set.h:

include/nvsnoop/live.h:

live/top/options.h:

live/top/text_page.h:
