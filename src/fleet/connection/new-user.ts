import { createUser } from "@nats-io/nkeys";

import { type FleetUser, userSettings } from "./permissions.ts";

/** A new user of NATS: what its node keeps to itself, and what nats-server has to know. */
export interface NewUser {
  /** The seed of its nkey, which is a secret. */
  readonly seed: string;
  /** Its entry in the settings of nats-server: it may do what it needs in its pool, and nothing else. */
  readonly settings: string;
}

export function newUser(user: Omit<FleetUser, "nkey">): NewUser {
  const pair = createUser();
  const seed = new TextDecoder().decode(pair.getSeed());
  return { seed, settings: userSettings({ ...user, nkey: pair.getPublicKey() }) };
}
