import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  renameSync,
} from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { attempt } from "../base/attempt.ts";
import { TrunklineError } from "../base/errors.ts";
import { isInside } from "../base/file/path.ts";

/** open(2): a descriptor that only says where something is. It waits for no pipe, and needs no rights. */
const O_PATH = 0x20_0000;

/**
 * Opens a file or folder without following links, neither at the end of its path nor on the way. The path
 * may be one that a program in a sandbox writes to: what it puts there is refused, and not followed.
 * Undefined if there is nothing. Throws "unavailable" if there is anything else.
 */
function openPinned(path: string): number | undefined {
  let fd: number;
  try {
    fd = openSync(path, O_PATH | constants.O_NOFOLLOW);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw refusal(path, code === "ENOTDIR" ? "a file is in the place of a folder" : message);
  }
  const problem = problemOf(fd, path);
  if (problem === undefined) return fd;
  closeSync(fd);
  throw refusal(path, problem);
}

/** The kernel says where a descriptor leads, and only a path without links is the same. */
function problemOf(fd: number, path: string): string | undefined {
  const status = fstatSync(fd);
  if (status.isSymbolicLink()) return "it is a link";
  if (!status.isDirectory() && !status.isFile()) return "it is neither a file nor a folder";
  const real = readlinkSync(`/proc/self/fd/${fd}`);
  return real === path ? undefined : `it leads to '${real}'`;
}

/**
 * Makes sure that a path is a folder or a file, as wanted, in a folder of ours that programs in a sandbox
 * write to. What they have put in its place is moved aside. The folder above must be there.
 */
function makePinned(path: string, isFolder: boolean): void {
  const above = openPinned(dirname(path));
  if (above === undefined) throw refusal(path, "the folder above is not there");
  // Through the descriptor, so that the folder above cannot become a link meanwhile.
  const place = join(`/proc/self/fd/${above}`, basename(path));
  try {
    const found = kindAt(place);
    if (found === (isFolder ? "folder" : "file")) return;
    if (found !== undefined) renameSync(place, `${place}.aside-${crypto.randomUUID()}`);
    if (isFolder) mkdirSync(place, { mode: 0o755 });
    else closeSync(openSync(place, "wx", 0o644));
  } catch (error) {
    // Another command was started at the same time. What it has made is looked at before it is used.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    closeSync(above);
  }
}

function kindAt(place: string): "folder" | "file" | "other" | undefined {
  const fd = attempt(() => openSync(place, O_PATH | constants.O_NOFOLLOW));
  if (fd === undefined) return undefined;
  const status = fstatSync(fd);
  closeSync(fd);
  if (status.isDirectory()) return "folder";
  return status.isFile() ? "file" : "other";
}

function refusal(path: string, why: string): TrunklineError {
  const next = "Look at it, and remove it if you did not make it";
  return new TrunklineError("unavailable", `Cannot use '${path}' in a sandbox: ${why}. ${next}.`);
}

/** Something that is seen at another place, or that stands for what is there. */
export interface Mount {
  /** Where it is seen. */
  readonly at: string;
  /** Where it is: a path that no link is on. */
  readonly from: string;
  readonly isWritable: boolean;
}

/**
 * What programs in a sandbox see beside the programs of the system. Everything else of the machine is not
 * there. The nearest rule applies: a folder can be read in one that is hidden.
 */
export interface FileView {
  /** Folders of Trunkline's own that stand for those of the machine, such as a home and /tmp. */
  readonly own: readonly Mount[];
  /** Paths that can be read, or `/` for all. Those that do not exist are left out. */
  readonly read: readonly string[];
  /** Paths that can be written, or `/` for all. */
  readonly write: readonly string[];
  /** Further paths at which the same can be seen. */
  readonly also: readonly Mount[];
  /** Paths that are empty, also in those above. */
  readonly hide: readonly string[];
  /** What is mounted over all this. Programs in the sandbox must not be able to write to the sources. */
  readonly mounts: readonly Mount[];
}

/** The beginning of bubblewrap's arguments, and the descriptors that they name. */
interface MountArguments {
  readonly args: readonly string[];
  /** They are passed on from the descriptor `FIRST_FD` on. */
  readonly files: readonly number[];
}

/** The first descriptor after the standard streams. */
export const FIRST_FD = 3;

interface ViewPlace {
  readonly at: string;
  /** Undefined if it is hidden. */
  readonly from: string | undefined;
  readonly isWritable: boolean;
  /** Whether mount points can be made in it: it is not the person's. */
  readonly isOurs: boolean;
  /** It is always there, made by bubblewrap. */
  readonly isMade?: boolean;
  readonly mayBeMissing?: boolean;
}

/**
 * Turns a view into arguments. `first` opens descriptors that come before, and `empty` is an empty file.
 * Sources are opened without following links, and bubblewrap compares what it has mounted with what was
 * opened. Throws "unavailable" if something in the view is no file or folder, or is reached by a link.
 */
export function mountView(
  view: FileView,
  empty: string,
  first: readonly (() => number)[] = [],
): MountArguments {
  const files: number[] = [];
  try {
    for (const open of first) files.push(open());
    const places = protectWays(placesIn(view));
    const args: string[] = [];
    const closed: string[] = [];
    for (const { at, from, isWritable, mayBeMissing, isMade } of sorted(places)) {
      // The root comes first, before anything that is not of this view.
      if (at === "/" || isMade === true) continue;
      const hidden = from === undefined ? kindIn(places, at) : undefined;
      if (hidden === "folder") {
        args.push("--perms", "0755", "--tmpfs", at);
        closed.push("--remount-ro", at);
        continue;
      }
      const fd = openPinned(from ?? empty);
      if (fd === undefined) {
        if (mayBeMissing === true) continue;
        throw new TrunklineError("unavailable", `Cannot use '${from}' in a sandbox: it is gone.`);
      }
      args.push(isWritable ? "--bind-fd" : "--ro-bind-fd", String(FIRST_FD + files.length), at);
      files.push(fd);
    }
    // Writing to what is empty would lose files silently. Last, since mount points are made in it.
    return { args: [...ways(places), ...args, ...closed], files };
  } catch (error) {
    for (const file of files) closeSync(file);
    throw error;
  }
}

type ViewPlaces = Map<string, ViewPlace>;

function sorted(places: ViewPlaces): ViewPlace[] {
  return [...places.values()].toSorted((one, other) => (one.at < other.at ? -1 : 1));
}

/** Folders of the machine that no sandbox sees, not even one that sees everything else. */
const MADE = ["/proc", "/dev"];

/** The rule for each path. Of two rules for a path, the stricter one counts. */
function placesIn({ own, read, write, also, hide, mounts }: FileView): ViewPlaces {
  const places: ViewPlaces = new Map();
  const set = (place: ViewPlace): unknown => places.set(place.at, place);
  for (const at of MADE)
    set({ at, from: undefined, isWritable: false, isOurs: true, isMade: true });
  for (const mount of own) set({ ...mount, isOurs: true });
  const covers = [...MADE, ...own.map(({ at }) => at), ...hide];
  /** Whether a path is seen anyway, in one of some folders. */
  const isIn = (path: string, folders: readonly string[]): boolean =>
    folders.some((folder) => {
      const isCover = (it: string): boolean => isInside(path, it) && isInside(it, folder);
      return path !== folder && isInside(path, folder) && !covers.some(isCover);
    });
  for (const at of read) {
    // A path in a writable folder stays writable, even if it is listed as readable.
    if (write.includes(at) || isIn(at, [...read, ...write])) continue;
    set({ at, from: at, isWritable: false, isOurs: false, mayBeMissing: true });
  }
  for (const at of write) {
    if (!isIn(at, write)) set({ at, from: at, isWritable: true, isOurs: false });
  }
  for (const mount of also) {
    const isLinked = nearest(places, mount.at)?.isOurs === false;
    // In a folder of the machine, the link itself is seen.
    if (!isLinked) set({ ...mount, isOurs: false, mayBeMissing: true });
  }
  for (const mount of mounts) set({ ...mount, isOurs: true });
  // A folder that was named to work in is there, with what is hidden in it.
  for (const path of hide.filter((it) => !write.includes(it))) {
    for (const { at, from, isOurs } of sorted(places)) {
      if (isOurs || from === undefined || !isInside(path, from)) continue;
      const seen = join(at, relative(from, path));
      // Something else may stand there, such as a mount.
      if (nearest(places, seen)?.at !== at) continue;
      set({ at: seen, from: undefined, isWritable: false, isOurs: false });
    }
  }
  for (const { at, from, isMade } of sorted(places)) {
    if (from === undefined && isMade !== true && kindIn(places, at) === undefined)
      places.delete(at);
  }
  return places;
}

/** The place that a path is in, or is. */
function nearest(places: ViewPlaces, path: string): ViewPlace | undefined {
  for (let at = path; ; at = dirname(at)) {
    const found = places.get(at);
    if (found !== undefined) return found;
    if (at === dirname(at)) return undefined;
  }
}

/** Where a path in another place comes from; undefined if that place is empty or none. */
function sourceOf(places: ViewPlaces, at: string): { from: string; place: ViewPlace } | undefined {
  const place = at === dirname(at) ? undefined : nearest(places, dirname(at));
  if (place?.from === undefined) return undefined;
  return { from: join(place.from, relative(place.at, at)), place };
}

/** What a hidden path really is. */
function kindIn(places: ViewPlaces, at: string): "folder" | "file" | undefined {
  const { from = at } = sourceOf(places, at) ?? {};
  return kindOf(from);
}

function kindOf(path: string): "folder" | "file" | undefined {
  const fd = openPinned(path);
  if (fd === undefined) return undefined;
  const isFolder = fstatSync(fd).isDirectory();
  closeSync(fd);
  return isFolder ? "folder" : "file";
}

/**
 * Makes each folder on the way to a mount a mount itself, where programs can write: what is mounted upon
 * can neither be moved nor replaced by a link, so that the next mount at that path is at the same place.
 */
function protectWays(places: ViewPlaces): ViewPlaces {
  for (const { at, from, mayBeMissing, isMade } of sorted(places)) {
    if (isMade === true) continue;
    if (mayBeMissing === true && from !== undefined && kindOf(from) === undefined) {
      places.delete(at);
      continue;
    }
    const outer = sourceOf(places, at)?.place;
    if (outer?.isWritable !== true) continue;
    const steps = relative(outer.at, at).split(sep);
    for (const [index, step] of steps.entries()) {
      const isLast = index === steps.length - 1;
      const seen = join(outer.at, ...steps.slice(0, index), step);
      const inside = join(outer.from ?? "", ...steps.slice(0, index), step);
      const wanted = isLast && from !== undefined ? kindOf(from) : "folder";
      if (outer.isOurs) makePinned(inside, wanted === "folder");
      else if (kindOf(inside) !== wanted && !(isLast && from === undefined)) {
        const why = `the sandbox has no ${wanted} to mount it on`;
        throw new TrunklineError("unavailable", `Cannot show '${seen}': ${why}.`);
      }
      if (!isLast) places.set(seen, { ...outer, at: seen, from: inside });
    }
  }
  return places;
}

/** The folders above, which bubblewrap would make for root alone. */
function ways(places: ViewPlaces): string[] {
  const folders = new Set<string>();
  for (const at of places.keys()) {
    if (sourceOf(places, at) !== undefined) continue;
    for (let each = dirname(at); each !== dirname(each); each = dirname(each)) folders.add(each);
  }
  return [...folders].toSorted().flatMap((folder) => ["--perms", "0755", "--dir", folder]);
}
