# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion for nvsnoop and its tools. Options and their values are read from --help, so they are those of
# the installed tool. zsh and fish run `bash FILE words TOOL WORD...`: the first line of its output names the
# kind of other words that may follow (files, folders, commands), the other lines are words.

# Options of tool $1 as --help writes them: "--quiet", "--trap=emulate|step". "--races[=all]" is two.
_nvsnoop_options() {
	"$1" --help 2>/dev/null | sed -En 's/^ {1,8}(--[a-z][-a-z0-9]*)\[=([^] ]*)\].*/\1\n\1=\2/p
		s/^ {1,8}(-[a-zA-Z], )?(--[a-z][-a-z0-9]*(=[^ ]*)?).*/\2/p'
}

# Studies of nvsnoop-probe, from --help.
_nvsnoop_studies() {
	"$1" --help 2>/dev/null | sed -En '/^Studies:/,/^$/s/^  ([a-z]+) .*/\1/p'
}

# The long name of option $2 of tool $1: -s is --sort.
_nvsnoop_long() {
	"$1" --help 2>/dev/null | sed -En "s/^ {1,8}$2, (--[a-z][-a-z0-9]*)=.*/\1/p"
}

# Sort columns of the reports among words $2..., or of the summary.
_nvsnoop_columns() {
	"$1" --list-reports=columns 2>/dev/null | awk -F '\t' -v words="${*:2}" '
		BEGIN { n = split(words, word, " "); for (i = 1; i <= n; i++) asked[word[i]] = 1 }
		$1 in asked { found = 1; print $2 }
		$1 == "--summary" { summary = $2 }
		END { if (!found) print summary }' | tr ',' '\n' | sort -u
}

# Names in columns $3 of report $2, of the traces among words $4..., unless it takes more than a second to learn them.
_nvsnoop_names() {
	local tool=$1 report=$2 columns=$3 word traces=()
	for word in "${@:4}"; do
		[[ $word != -* && -f $word ]] && traces+=("$word")
	done
	((${#traces[@]})) || return
	timeout 1 "$tool" "$report" --format=csv "${traces[@]}" 2>/dev/null | tr -d '\r' |
		awk -F, -v columns=",$columns," 'NR == 1 { split($0, key); next }
			{ for (i = 1; i <= NF; i++) if (index(columns, "," key[i] ",")) print $i }' |
		grep -E '^[A-Za-z_][A-Za-z0-9_]*$' | sort -u
}

# Adds to `words` the processes that nvsnoop-top shows now.
_nvsnoop_processes() {
	mapfile -t words < <("$1" --once --format=json --interval=0.1 2>/dev/null | grep -oE '"pid":[0-9]+' | cut -d: -f2)
}

# Adds to `words` what option $2 of tool $1 takes, of which $3 has been typed, $4... standing before it.
_nvsnoop_values() {
	local tool=$1 option=$2 typed=$3 takes sign=
	takes=$(_nvsnoop_options "$tool" | sed -n "s/^$option=//p")
	case ${tool##*/}:$takes in
	nvsnoop-top:COLUMN*)
		[[ $typed == -* ]] && sign=-
		mapfile -t words < <("$tool" --sort= 2>&1 | sed -n 's/^  //p' | tr ' ' '\n' | sed "s/^/$sign/")
		return ;;
	nvsnoop-top:PID*) _nvsnoop_processes "$tool" ;;
	nvsnoop-record:PID*) _nvsnoop_processes "${tool%record}top" ;;
	esac
	case $takes in
	COLUMN*)
		[[ $typed == -* ]] && sign=-
		mapfile -t words < <(_nvsnoop_columns "$tool" "${@:4}" | sed "s/^/$sign/") ;;
	API) mapfile -t words < <(_nvsnoop_names "$tool" --by-api api,runtime_api "${@:4}") ;;
	RANGE) mapfile -t words < <(_nvsnoop_names "$tool" --by-nvtx range "${@:4}") ;;
	CLASS) mapfile -t words < <("$tool" --classes --format=csv 2>/dev/null | sed 1d | cut -d, -f2) ;;
	*) mapfile -t words < <(tr '|' '\n' <<<"$takes" | grep -E '^[a-z0-9][-a-z0-9]*$') ;;
	esac
	case $takes in
	FILE*) also=files ;;
	DIR* | FOLDER) also=folders ;;
	esac
}

# Sets `words`, and `also`: files, folders, commands, program (its own business), or nothing. $1 is the
# tool, $2... its words up to the one that is being typed.
_nvsnoop_words() {
	local tool=${1/#\~\//$HOME/} word=${*: -1} before=("${@:2:$#-2}") previous='' i
	((${#before[@]})) && previous=${before[-1]}
	words=() also=''
	if [[ ${before[0]-} == @(report|probe|top|record) && ${tool##*/} == nvsnoop ]]; then
		_nvsnoop_words "${tool}-${before[0]}" "${before[@]:1}" "$word"
		return
	elif [[ ${tool##*/} == nvsnoop ]]; then
		for ((i = 0; i < ${#before[@]}; i++)); do
			case ${before[i]} in
			--) also=commands; ((i++)); break ;;
			-o | --output) ((i++)) ;;
			-*) ;;
			*) break ;;
			esac
		done
		((i < ${#before[@]})) && also=program
		[[ -z $also ]] || return
	fi
	if [[ $word == --*=* ]]; then
		_nvsnoop_values "$tool" "${word%%=*}" "${word#*=}" "${before[@]}"
		words=("${words[@]/#/${word%%=*}=}")
	elif [[ $previous == -? && -n $(_nvsnoop_long "$tool" "$previous") ]]; then
		_nvsnoop_values "$tool" "$(_nvsnoop_long "$tool" "$previous")" "$word" "${before[@]}"
	elif [[ $word == -* ]]; then
		mapfile -t words < <(_nvsnoop_options "$tool" | sed 's/=.*/=/')
	elif [[ ${tool##*/} == nvsnoop ]]; then
		words=(report probe top record) also=commands
	elif [[ ${tool##*/} == nvsnoop-probe ]]; then
		if [[ " ${before[*]} " == *" submit "* ]]; then
			also=files
		elif [[ " ${before[*]} " == *" bench "* ]]; then
			mapfile -t words < <("$tool" bench --list 2>/dev/null | sed -n 's/^\([a-z0-9-]\{1,\}\)[: ].*/\1/p')
		else
			mapfile -t words < <(_nvsnoop_studies "$tool")
		fi
	elif [[ ${tool##*/} == nvsnoop-top && " ${before[*]} " == *" --hang "* ]]; then
		_nvsnoop_processes "$tool"
	elif [[ ${tool##*/} != nvsnoop-@(top|record|exporter) ]]; then
		also=files
	fi
}

if [[ ${1-} == words && $0 == "${BASH_SOURCE[0]}" ]]; then
	_nvsnoop_words "${@:2}"
	printf '%s\n' "$also" "${words[@]}"
	exit
fi

# ---- bash itself ----

# Index of the program in nvsnoop's words.
_nvsnoop_program() {
	local i
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--) echo $((i + 1)); return ;;
		-o | =) ((i++)) ;;
		-*) ;;
		*) echo "$i"; return ;;
		esac
	done
}

_nvsnoop() {
	local line=() words=() also='' cut='' i word
	# "--trap=em" comes as three words, since "=" parts them.
	for ((i = 1; i <= COMP_CWORD; i++)); do
		if ((${#line[@]})) && [[ ${COMP_WORDS[i]} == "=" || ${COMP_WORDS[i - 1]} == "=" ]]; then
			line[-1]+=${COMP_WORDS[i]}
		else
			line+=("${COMP_WORDS[i]}")
		fi
	done
	COMPREPLY=()
	word=${line[-1]}
	_nvsnoop_words "$1" "${line[@]}"
	[[ $word == --*=* && $COMP_WORDBREAKS == *=* ]] && cut=${word%%=*}=
	for i in "${words[@]}"; do
		[[ $i == "$word"* ]] && COMPREPLY+=("${i#"$cut"}")
	done
	[[ ${COMPREPLY[0]-} == --*= ]] && compopt -o nospace 2>/dev/null
	word=${word#"$cut"}
	[[ $also == commands && $word == */* ]] && also=files
	if [[ $also == program ]] && declare -F _command_offset >/dev/null; then
		_command_offset "$(_nvsnoop_program)"
		return
	fi
	case $also in
	files | program) i=-f ;;
	folders) i=-d ;;
	commands) i=-c ;;
	*) return ;;
	esac
	[[ $i == -c ]] || compopt -o filenames 2>/dev/null
	mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen $i -- "$word")
}

complete -F _nvsnoop nvsnoop nvsnoop-report nvsnoop-probe nvsnoop-top nvsnoop-record nvsnoop-exporter
