const CUT = "# ------------------------ >8 ------------------------";

/** A file for a person to write a comment in. */
export function draftText(about: string): string {
  const hint = "# Write your comment above this line. An empty comment is not added.";
  const shown = about.split("\n").map((line) => `# ${line}`.trimEnd());
  return `\n${CUT}\n${hint}\n${shown.join("\n")}\n`;
}

/** What the person wrote: everything below the cut line is dropped, as in git's commit messages. */
export function textOfDraft(content: string): string {
  return (content.split(CUT)[0] ?? "").replace(/^\s*\n/, "").trimEnd();
}
