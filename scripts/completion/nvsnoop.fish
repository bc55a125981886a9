# SPDX-License-Identifier: MIT
# Completion for fish. Uses completion.bash, which is next to this file or installed for bash.

set -g __nvsnoop_words (status dirname)/completion.bash
test -r $__nvsnoop_words; or set __nvsnoop_words (status dirname)/../../bash-completion/completions/nvsnoop

function __nvsnoop_complete
    set -l word (commandline -ct)
    set -l before (commandline -opc)
    set -l lines (bash $__nvsnoop_words words $before "$word")
    set -l option (string match -r -- '^--[^=]*=' $word)
    set -l value (string replace -r -- '^--[^=]*=' '' "$word")
    printf '%s\n' $lines[2..]
    switch "$lines[1]"
        case files
            printf '%s\n' "$option"(__fish_complete_path "$value")
        case folders
            printf '%s\n' "$option"(__fish_complete_directories "$value")
        case commands
            complete -C "$word"
        case program
            set -e before[1]
            while string match -q -- '-*' $before[1]
                set -l skipped $before[1]
                set -e before[1]
                test "$skipped" = --; and break
                contains -- $skipped -o --output; and set -e before[1]
            end
            complete -C "$(string escape -- $before $word | string join ' ')"
    end
end

complete -c nvsnoop -f -a '(__nvsnoop_complete)'
complete -c nvsnoop-report -f -a '(__nvsnoop_complete)'
complete -c nvsnoop-probe -f -a '(__nvsnoop_complete)'
complete -c nvsnoop-top -f -a '(__nvsnoop_complete)'
complete -c nvsnoop-record -f -a '(__nvsnoop_complete)'
complete -c nvsnoop-exporter -f -a '(__nvsnoop_complete)'
