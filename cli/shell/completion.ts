/** What a shell may complete, from the commands themselves. Pure. */
import type { Command, Option } from "commander";

/** A command as it is typed, with all that may follow it. */
type Place = {
  /** "" for the program itself. */
  readonly path: string;
  readonly words: readonly string[];
  /** By its name, what an option takes there. */
  readonly values: readonly { readonly option: string; readonly choices: readonly string[] }[];
};

export const shells = ["bash", "zsh"] as const;
export type ShellName = (typeof shells)[number];

export function completionScript(program: Command, shell: ShellName): string {
  const places = placesOf(program, []);
  return shell === "bash" ? bash(places) : zsh(places);
}

function placesOf(command: Command, path: readonly string[]): readonly Place[] {
  const below = command.commands.map((each) => each.name());
  const options = command.options.flatMap(namesOf);
  const given = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  const values = command.options.flatMap((option) =>
    option.argChoices === undefined ? [] : valuesOf(option, option.argChoices),
  );
  const words = [...given, ...below, ...options, "--help"];
  const own = { path: path.join(" "), words, values };
  const children = command.commands.flatMap((each) => placesOf(each, [...path, each.name()]));
  return [own, ...children];
}

function valuesOf(option: Option, choices: readonly string[]): Place["values"] {
  return namesOf(option).map((name) => ({ option: name, choices }));
}

function namesOf({ short, long }: Option): readonly string[] {
  return [long, short].flatMap((name) => name ?? []);
}

/**
 * The words typed so far lead from place to place; what is no command stays where it is. Where
 * nothing fits the shell completes files.
 */
function bash(places: readonly Place[]): string {
  return `# bash completion for tidemark: source <(tidemark completion bash)
_tidemark() {
  local place="" word choices=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$place $word" in
${steps(places, "      ")}
    esac
  done
  case "$place" in
${cases(places, "    ")}
  esac
  case "$place \${COMP_WORDS[COMP_CWORD-1]}" in
${valueCases(places, "    ")}
  esac
  COMPREPLY=($(compgen -W "$choices" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _tidemark tidemark
`;
}

function zsh(places: readonly Place[]): string {
  return `#compdef tidemark
# zsh completion for tidemark: source <(tidemark completion zsh)
_tidemark() {
  local place="" word choices=""
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$place $word" in
${steps(places, "      ")}
    esac
  done
  case "$place" in
${cases(places, "    ")}
  esac
  case "$place \${words[CURRENT-1]}" in
${valueCases(places, "    ")}
  esac
  compadd -- \${=choices} || _files
}
# As a file of $fpath this is itself what the first Tab runs.
if [ "\${funcstack[1]}" = "_tidemark" ]; then
  _tidemark "$@"
else
  compdef _tidemark tidemark
fi
`;
}

function steps(places: readonly Place[], indent: string): string {
  const deeper = places.filter(({ path }) => path !== "");
  return deeper
    .map(({ path }) => {
      const words = path.split(" ");
      const from = words.slice(0, -1).join(" ");
      return `${indent}"${from} ${words.at(-1) ?? ""}") place="${path}" ;;`;
    })
    .join("\n");
}

function cases(places: readonly Place[], indent: string): string {
  return places
    .map(({ path, words }) => `${indent}"${path}") choices="${words.join(" ")}" ;;`)
    .join("\n");
}

function valueCases(places: readonly Place[], indent: string): string {
  return places
    .flatMap(({ path, values }) => values.map((each) => ({ path, ...each })))
    .map(({ path, option, choices }) => {
      return `${indent}"${path} ${option}") choices="${choices.join(" ")}" ;;`;
    })
    .join("\n");
}
