import { mkdirSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import type { FileOwner } from "./driver.ts";

/** User ids outside the ranges that systems assign. */
const FIRST = 1_879_048_192;
const COUNT = 1 << 24;

/**
 * A user of the system for each workspace, which no other workspace has for as long as it exists:
 * users keep runs from each other's files. Two links say whose a user is, and which user a workspace
 * has. A link is made in one step that fails where there is one, so that any number of processes may
 * ask, and be killed.
 */
export class RunUsers {
  readonly #folder: string;
  readonly #known = new Map<string, FileOwner>();
  readonly #range: { readonly first: number; readonly count: number };

  constructor(folder: string, range = { first: FIRST, count: COUNT }) {
    this.#folder = folder;
    this.#range = range;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /** The user of a workspace, which has it until it is freed. */
  of(workspace: string): FileOwner {
    const known = this.#known.get(workspace) ?? this.#find(workspace);
    this.#known.set(workspace, known);
    return known;
  }

  /** For when the workspace is removed with all its files. */
  free(workspace: string): void {
    this.#known.delete(workspace);
    const id = this.#read(nameOf(workspace));
    if (id === undefined) return;
    // In this order: a user without a workspace is lost, one with two would be shared.
    rmSync(join(this.#folder, nameOf(workspace)), { force: true });
    if (this.#read(id) === workspace) rmSync(join(this.#folder, id), { force: true });
  }

  #find(workspace: string): FileOwner {
    const had = this.#read(nameOf(workspace));
    if (had !== undefined) return ownerOf(had);
    const taken = this.#take(workspace);
    if (this.#link(nameOf(workspace), taken)) return ownerOf(taken);
    // Another process has been faster for the same workspace.
    const theirs = this.#read(nameOf(workspace));
    if (theirs !== taken) rmSync(join(this.#folder, taken), { force: true });
    return ownerOf(theirs ?? taken);
  }

  /** Takes the first user that nobody has, from somewhere on that differs between workspaces. */
  #take(workspace: string): string {
    const { first, count } = this.#range;
    const start = hashOf(workspace);
    for (let step = 0; step < count; step++) {
      const id = String(first + ((start + step) % count));
      // One of its own was taken by a process that was killed before it could say so.
      if (this.#link(id, workspace) || this.#read(id) === workspace) return id;
    }
    const why = `all ${count} are taken. Delete sessions that are not needed any more`;
    throw new TrunklineError("limit", `Cannot find a user for the workspace: ${why}.`);
  }

  #link(name: string, target: string): boolean {
    try {
      symlinkSync(target, join(this.#folder, name));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
      throw error;
    }
  }

  #read(name: string): string | undefined {
    try {
      return readlinkSync(join(this.#folder, name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }
}

function nameOf(workspace: string): string {
  return `of-${workspace}`;
}

function ownerOf(id: string): FileOwner {
  return { uid: Number(id), gid: Number(id) };
}

function hashOf(text: string): number {
  let hash = 0;
  for (const character of text) hash = (Math.imul(hash, 31) + character.charCodeAt(0)) >>> 0;
  return hash;
}
