stack_tree.o: decode/analysis/stack_tree.c include/old-glibc.h \
  decode/base/hash.h decode/base/numbers.h include/nvsnoop/decode.h \
  include/nvsnoop/calls.h include/nvsnoop/ops.h include/nvsnoop/trace.h \
  include/nvsnoop/allocation.h include/nvsnoop/record.h \
  include/nvsnoop/count.h include/nvsnoop/fault.h \
  include/nvsnoop/graph.h include/nvsnoop/image.h include/nvsnoop/nvtx.h \
  include/nvsnoop/spool.h decode/calls/args.h decode/calls/calls.h \
  decode/calls/roles.h decode/calls/tally.h decode/calls/bracket_times.h \
  decode/gpu/ops.h decode/gpu/class.h decode/gpu/pb.h decode/gpu/qmd.h \
  decode/calls/handles.h decode/calls/executable_graphs.h \
  decode/base/keyed_rows.h decode/calls/edges.h decode/calls/pass.h \
  decode/calls/decode_submission.h decode/analysis/submission_stats.h \
  decode/query/source.h decode/cli/pattern.h decode/query/time_range.h \
  decode/analysis/stack_tree.h decode/analysis/api_stats.h \
  decode/query/durations.h decode/query/api_names.h \
  decode/trace/demangled_names.h decode/query/selection.h

include/old-glibc.h:

decode/base/hash.h:

decode/base/numbers.h:

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

decode/calls/args.h:

decode/calls/calls.h:

decode/calls/roles.h:

decode/calls/tally.h:

decode/calls/bracket_times.h:

decode/gpu/ops.h:

decode/gpu/class.h:

decode/gpu/pb.h:

decode/gpu/qmd.h:

decode/calls/handles.h:

decode/calls/executable_graphs.h:

decode/base/keyed_rows.h:

decode/calls/edges.h:

decode/calls/pass.h:

decode/calls/decode_submission.h:

decode/analysis/submission_stats.h:

decode/query/source.h:

decode/cli/pattern.h:

decode/query/time_range.h:

decode/analysis/stack_tree.h:

decode/analysis/api_stats.h:

decode/query/durations.h:

decode/query/api_names.h:

decode/trace/demangled_names.h:

decode/query/selection.h:
