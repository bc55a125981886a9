# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion for nvsnoop and nvsnoop-report. Options and their values are read from --help, so that they
# are those of the tool that is called.

# Long options of tool $1 as --help writes them: "--quiet", "--trap=emulate|step".
_nvsnoop_options() {
	"$1" --help 2>/dev/null | grep -oE -- '(^|[ ,])--[a-z][-a-z0-9]*(\[?=[^] ]*)?' | tr -d ' ,[' | sort -u
}

# Values of option $2 of tool $1, where they are words.
_nvsnoop_values() {
	_nvsnoop_options "$1" | sed -n "s/^$2=//p" | tr '|' '\n' | grep -E '^[a-z0-9][-a-z0-9]*$'
}

_nvsnoop_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

# One option or its value; false where something else is to be completed.
_nvsnoop_option() {
	local tool=$1 word=$2 previous=$3 option
	# "--trap=em" comes as three words, since "=" parts them.
	if [[ $word == "=" ]]; then
		option=$previous word=
	elif [[ $previous == "=" ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	else
		option=
	fi
	if [[ $option == --* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_nvsnoop_values "$tool" "$option")" -- "$word")
		((${#COMPREPLY[@]})) || _nvsnoop_files "$word"
		return 0
	fi
	[[ $word == -* ]] || return 1
	mapfile -t COMPREPLY < <(compgen -W "$(_nvsnoop_options "$tool" | sed 's/=.*/=/')" -- "$word")
	[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
	return 0
}

# Index of the program in nvsnoop's words; 0 where there is none yet.
_nvsnoop_program() {
	local i
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--) echo $((i + 1)); return ;;
		-o) ((i++)) ;;
		=) ((i++)) ;;
		-*) ;;
		*) echo "$i"; return ;;
		esac
	done
	echo 0
}

_nvsnoop() {
	local word=$2 previous=$3 program
	COMPREPLY=()
	program=$(_nvsnoop_program)
	if ((program)) && declare -F _command_offset >/dev/null; then
		_command_offset "$program"
	elif ((program)) || [[ $previous == -o ]]; then
		_nvsnoop_files "$word"
	elif ! _nvsnoop_option "$1" "$word" "$previous"; then
		mapfile -t COMPREPLY < <(compgen -c -- "$word")
		[[ $word != */* ]] || _nvsnoop_files "$word"
	fi
}

_nvsnoop_report() {
	COMPREPLY=()
	_nvsnoop_option "$1" "$2" "$3" || _nvsnoop_files "$2"
}

complete -F _nvsnoop nvsnoop
complete -F _nvsnoop_report nvsnoop-report
