pprof.o: decode/export/pprof.c include/old-glibc.h decode/base/hash.h \
  decode/calls/pass.h decode/calls/decode_submission.h \
  include/nvsnoop/decode.h include/nvsnoop/calls.h include/nvsnoop/ops.h \
  include/nvsnoop/trace.h include/nvsnoop/allocation.h \
  include/nvsnoop/record.h include/nvsnoop/count.h \
  include/nvsnoop/fault.h include/nvsnoop/graph.h \
  include/nvsnoop/image.h include/nvsnoop/nvtx.h include/nvsnoop/spool.h \
  decode/gpu/ops.h decode/gpu/class.h decode/gpu/pb.h decode/gpu/qmd.h \
  decode/calls/calls.h decode/calls/roles.h decode/calls/tally.h \
  decode/calls/handles.h decode/calls/executable_graphs.h \
  decode/base/keyed_rows.h decode/calls/edges.h decode/export/proto.h \
  decode/cli/output.h decode/query/source.h decode/cli/pattern.h \
  decode/query/time_range.h decode/report/core/report.h \
  decode/calls/args.h decode/cli/table.h decode/cli/json.h \
  decode/query/api_names.h decode/query/selection.h \
  decode/report/core/options.h decode/analysis/gpu_work.h \
  decode/calls/bracket_times.h decode/analysis/stack_tree.h \
  decode/analysis/api_stats.h decode/query/durations.h \
  decode/base/numbers.h decode/report/core/stack_columns.h

include/old-glibc.h:

decode/base/hash.h:

decode/calls/pass.h:

decode/calls/decode_submission.h:

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

decode/gpu/ops.h:

decode/gpu/class.h:

decode/gpu/pb.h:

decode/gpu/qmd.h:

decode/calls/calls.h:

decode/calls/roles.h:

decode/calls/tally.h:

decode/calls/handles.h:

decode/calls/executable_graphs.h:

decode/base/keyed_rows.h:

decode/calls/edges.h:

decode/export/proto.h:

decode/cli/output.h:

decode/query/source.h:

decode/cli/pattern.h:

decode/query/time_range.h:

decode/report/core/report.h:

decode/calls/args.h:

decode/cli/table.h:

decode/cli/json.h:

decode/query/api_names.h:

decode/query/selection.h:

decode/report/core/options.h:

decode/analysis/gpu_work.h:

decode/calls/bracket_times.h:

decode/analysis/stack_tree.h:

decode/analysis/api_stats.h:

decode/query/durations.h:

decode/base/numbers.h:

decode/report/core/stack_columns.h:
