import { mkdirSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import type { FileOwner } from "./driver.ts";

/** User ids outside the ranges that systems assign. */
const FIRST = 1_879_048_192;
const COUNT = 1 << 24;

/**
 * A system user for each workspace, so that runs cannot read each other's files. No two workspaces share
 * one while they exist. One link maps the user to its workspace, another the workspace to its user.
 * Creating a link is atomic and fails if it exists, so processes may run concurrently and be killed.
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

  /** The user of a workspace, until `free`. */
  of(workspace: string): FileOwner {
    return this.#known.getOrInsertComputed(workspace, () => this.#find(workspace));
  }

  /** Frees the user, after the workspace with all its files was removed. */
  free(workspace: string): void {
    this.#known.delete(workspace);
    const id = this.#read(nameOf(workspace));
    if (id === undefined) return;
    // In this order: if we are killed in between, the user is lost. Otherwise two workspaces could share it.
    rmSync(join(this.#folder, nameOf(workspace)), { force: true });
    if (this.#read(id) === workspace) rmSync(join(this.#folder, id), { force: true });
  }

  #find(workspace: string): FileOwner {
    const had = this.#read(nameOf(workspace));
    if (had !== undefined) return ownerOf(had);
    const taken = this.#take(workspace);
    if (this.#link(nameOf(workspace), taken)) return ownerOf(taken);
    // Another process was faster for the same workspace.
    const theirs = this.#read(nameOf(workspace));
    if (theirs !== taken) rmSync(join(this.#folder, taken), { force: true });
    return ownerOf(theirs ?? taken);
  }

  /**
   * Takes the first free user, beginning at a number that depends on the workspace and on this folder:
   * two workers of a fleet on one machine may have the same workspace, one after the other. What belongs
   * to the user, such as a control group, is ended with the workspace of one and not with the other's.
   */
  #take(workspace: string): string {
    const { first, count } = this.#range;
    const start = hashOf(join(this.#folder, workspace));
    for (let step = 0; step < count; step++) {
      const id = String(first + ((start + step) % count));
      // It may already be ours: a process was killed before it created the second link.
      if (this.#link(id, workspace) || this.#read(id) === workspace) return id;
    }
    const why = `all ${count} are in use. Delete sessions that you no longer need`;
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
