processes.o: live/top/processes.c include/old-glibc.h \
  decode/base/compare.h decode/trace/helper.h live/top/columns.h \
  decode/cli/table.h decode/base/keyed_rows.h decode/cli/json.h \
  decode/cli/output.h live/top/top.h live/read/page_set.h \
  include/nvsnoop/trace.h include/nvsnoop/allocation.h \
  include/nvsnoop/record.h include/nvsnoop/count.h \
  include/nvsnoop/fault.h include/nvsnoop/graph.h \
  include/nvsnoop/image.h include/nvsnoop/nvtx.h include/nvsnoop/spool.h \
  include/nvsnoop/live.h live/top/options.h live/top/text_page.h \
  decode/query/estimate.h

include/old-glibc.h:

decode/base/compare.h:

decode/trace/helper.h:

live/top/columns.h:

decode/cli/table.h:

decode/base/keyed_rows.h:

decode/cli/json.h:

decode/cli/output.h:

live/top/top.h:

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

live/top/options.h:

live/top/text_page.h:

decode/query/estimate.h:
