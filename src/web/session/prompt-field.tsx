import type { JSX, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { get } from "../client/request.ts";
import { Button } from "../view/parts.tsx";
import { IMAGE_TYPES, imagesIn, type NamedImage } from "./prompt-images.ts";

interface Suggestion {
  readonly name: string;
  readonly description?: string;
}

export interface PromptFieldProps {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly text: string;
  readonly placeholder: string;
  readonly onText: (text: string) => void;
  readonly onSend: () => void;
  readonly onProblem: (says: string) => void;
  /** The folder whose files `@` completes; undefined if they are on another machine. */
  readonly folder: string | undefined;
  readonly commands?: readonly Required<Suggestion>[];
  /** Undefined where the agent takes none. */
  readonly images?: readonly NamedImage[] | undefined;
  readonly onImages: (images: readonly NamedImage[]) => void;
}

const FILE = /(?:^|\s)@((?:\\.|[^\s\\])*)$/;
const COMMAND = /^\/(\S*)$/;
const MOST = 8;
/** Milliseconds without a key before files are asked for. */
const PAUSE = 120;

/** The text of a prompt, with its commands, the files that it names and the images that go with it. */
export function PromptField(props: PromptFieldProps): JSX.Element {
  const { field, text, placeholder, images, onText, onSend } = props;
  const [before, setBefore] = useState(text);
  const command = COMMAND.exec(text)?.[1];
  const files = useFiles(props.folder, FILE.exec(before)?.[1]);
  const listed =
    command === undefined
      ? files.map((name) => ({ name }))
      : (props.commands ?? []).filter(({ name }) => name.startsWith(command) && name !== command);
  const shown: readonly Suggestion[] = listed.slice(0, MOST);
  const sign = command === undefined ? "@" : "/";
  const take = ({ name }: Suggestion): void => {
    const typed = command ?? FILE.exec(before)?.[1] ?? "";
    const start = before.slice(0, before.length - typed.length);
    const escaped = sign === "@" ? name.replaceAll(/[\s\\]/g, String.raw`\$&`) : name;
    const done = `${start}${escaped} `;
    onText(done + text.slice(before.length));
    setBefore(done);
    field.current?.focus();
  };
  const add = (chosen: Iterable<File>): void => {
    imagesIn(chosen).then(
      (added) => props.onImages([...(images ?? []), ...added]),
      (error: Error) => props.onProblem(error.message),
    );
  };
  /** False if there was no image among what was pasted or dropped. */
  const addFrom = (data: DataTransfer | null): boolean => {
    const pictures = [...(data?.files ?? [])];
    if (images === undefined || pictures.length === 0) return false;
    add(pictures);
    return true;
  };
  return (
    <>
      {shown.length === 0 ? null : (
        <ul class="commands" aria-label="Suggestions">
          {shown.map((each, index) => (
            <li key={each.name}>
              <Button class="quiet" onClick={() => take(each)}>
                <code>
                  {sign}
                  {each.name}
                </code>{" "}
                <span class="note">{each.description}</span>
                {index === 0 ? <kbd>Tab</kbd> : null}
              </Button>
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={field}
        rows={Math.min(10, Math.max(2, text.split("\n").length))}
        placeholder={placeholder}
        aria-label="Prompt"
        value={text}
        onInput={({ currentTarget: { value, selectionEnd } }) => {
          onText(value);
          setBefore(value.slice(0, selectionEnd));
        }}
        onPaste={(event) => {
          if (addFrom(event.clipboardData)) event.preventDefault();
        }}
        onDrop={(event) => {
          if (addFrom(event.dataTransfer)) event.preventDefault();
        }}
        onKeyDown={(event) => {
          const [first] = shown;
          if (event.key === "Tab" && !event.shiftKey && first !== undefined) {
            event.preventDefault();
            take(first);
          }
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          onSend();
        }}
      />
      {images === undefined ? null : (
        <div class="images">
          <label class="add-images">
            Add images
            <input
              type="file"
              multiple
              accept={IMAGE_TYPES}
              onChange={({ currentTarget }) => {
                add([...(currentTarget.files ?? [])]);
                currentTarget.value = "";
              }}
            />
          </label>
          {images.map((image, index) => (
            <Button
              key={index}
              class="quiet small"
              aria-label={`Remove ${image.name}`}
              onClick={() => props.onImages(images.filter((each) => each !== image))}
            >
              {image.name} ×
            </Button>
          ))}
        </div>
      )}
    </>
  );
}

/** The files of a folder that fit what is typed after `@`; none while nothing is. */
function useFiles(folder: string | undefined, typed: string | undefined): readonly string[] {
  const [files, setFiles] = useState<readonly string[]>([]);
  const latest = useRef("");
  useEffect(() => {
    latest.current = `${folder ?? ""}\n${typed ?? ""}`;
    if (folder === undefined || typed === undefined) {
      setFiles([]);
      return undefined;
    }
    const asked = latest.current;
    const query = new URLSearchParams({ folder, q: typed.replaceAll(/\\(.)/g, "$1") });
    const timer = setTimeout(() => {
      get<{ readonly files: readonly string[] }>(`/start/files?${query.toString()}`).then(
        (found) => {
          if (latest.current === asked) setFiles(found.files);
        },
        // A folder that cannot be listed has no names to offer.
        () => setFiles([]),
      );
    }, PAUSE);
    return () => clearTimeout(timer);
  }, [folder, typed]);
  return files;
}
