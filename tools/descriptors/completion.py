"""Bash completion from the descriptors: words, options, enum values, files, host, schema and operation names."""

HEAD = """\
# bash completion for sshx. Generated from schemas/; do not edit.
"""

# `=` and `:` break words for readline, so `--audit=re` arrives as three words; the loop joins what it needs.
BODY = """\
_sshx_host_names() {
  # The first line is the heading.
  sshx host list --quiet 2>/dev/null | {
    read -r _
    while read -r name _; do printf '%s\\n' "$name"; done
  }
}

_sshx_operation_of() {
  # The operation that the words before the cursor name; sets `operation`, or `prefix` for a part of one. Options and the
  # value after an equals sign are skipped.
  local word skip=
  operation= prefix=
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ $word == -- ]]; then after_dashes=1; return; fi
    if [[ $word == '=' ]]; then skip=1; continue; fi
    if [[ -n $skip || -n $operation || $word == -* ]]; then skip=; continue; fi
    prefix=${prefix:+$prefix.}$word
    if _sshx_is_operation "$prefix"; then operation=$prefix; fi
  done
}

_sshx() {
  local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} operation prefix after_dashes= reply=
  COMPREPLY=()
  if [[ $cur == '=' ]]; then
    cur=
  elif [[ $previous == '=' ]]; then
    previous=${COMP_WORDS[COMP_CWORD-2]}
  fi
  _sshx_operation_of
  if [[ -n $after_dashes ]]; then
    # The words of a remote command: local files are the best guess.
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    return
  fi
  if [[ $cur != -* ]]; then
    case $(_sshx_value_kind "$operation" "$previous") in
      file) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); compopt -o filenames 2>/dev/null; return ;;
      host) reply=$(_sshx_host_names) ;;
      schema) reply=$(_sshx_schema_names) ;;
      operation) reply=$(_sshx_operation_names) ;;
      words) reply=$(_sshx_value_words "$operation" "$previous") ;;
      text) return ;;
      *) reply=$(_sshx_next_words "$operation" "$prefix") ;;
    esac
  else
    reply=$(_sshx_options "$operation")
  fi
  mapfile -t COMPREPLY < <(compgen -W "$reply" -- "$cur")
}

complete -F _sshx sshx
"""


def bash(operations, schemas):
    """The text of the completion file."""
    names = [operation.name for operation in operations]
    parts = [HEAD]
    parts.append(printer("_sshx_schema_names", [schema.name for schema in schemas]))
    parts.append(printer("_sshx_operation_names", names))
    parts.append(f"_sshx_is_operation() {{\n  case $1 in\n    {' | '.join(names)}) return 0 ;;\n  esac\n  return 1\n}}\n")
    parts.append(cases("_sshx_options", "$1", [(o.name, flags(o)) for o in operations], "--help --version"))
    parts.append(value_kinds(operations))
    parts.append(cases("_sshx_value_words", "$1 $2", [
        (key, " ".join(p.choices)) for o in operations for p in o.options if p.choices for key in keys(o, p)], ""))
    parts.append(next_words(operations))
    parts.append(BODY)
    return "\n".join(parts)


def printer(name, words):
    return f"{name}() {{\n  printf '%s\\n' {' '.join(words)}\n}}\n"


def cases(name, subject, rows, otherwise):
    body = "".join(f"    '{key}') echo '{value}' ;;\n" for key, value in rows)
    return f"{name}() {{\n  case \"{subject}\" in\n{body}    *) echo '{otherwise}' ;;\n  esac\n}}\n"


def flags(operation):
    return " ".join([f"--{p.flag}" for p in operation.options] + ["--help"])


def keys(operation, prop):
    spellings = [f"--{prop.flag}"] + ([f"-{prop.short}"] if prop.short else [])
    return [f"{operation.name} {spelling}" for spelling in spellings]


def value_kinds(operations):
    rows = []
    for operation in operations:
        for prop in operation.options:
            if prop.type != "boolean":
                kind = "words" if prop.choices else prop.complete or "text"
                rows += [(key, kind) for key in keys(operation, prop)]
    return cases("_sshx_value_kind", "$1 $2", rows, "")


def next_words(operations):
    """What may follow without a dash: the next word of an operation, then the names that its positional takes."""
    rows, parents = [], {}
    for operation in operations:
        words = operation.name.split(".")
        for i, word in enumerate(words):
            parents.setdefault(".".join(words[:i]), []).append(word)
        kinds = {p.complete for p in operation.positionals}
        for kind, command in (("host", "_sshx_host_names"), ("schema", "_sshx_schema_names")):
            if kind in kinds:
                rows.append(f"    '{operation.name} '*) {command} ;;\n")
    for prefix, words in parents.items():
        unique = " ".join(dict.fromkeys(words))
        rows.append(f"    ' {prefix}') echo '{unique}' ;;\n")
    return f"_sshx_next_words() {{\n  case \"$1 $2\" in\n{''.join(rows)}  esac\n}}\n"
