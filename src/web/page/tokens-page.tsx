import type { JSX } from "preact";
import { useState } from "preact/hooks";

import type { RevokedToken, TokenRow } from "../../server/dashboard/api.ts";
import { get, post } from "../client/request.ts";
import { mayDo } from "../client/state.ts";
import { DeclaredForm } from "../form/declared-form.tsx";
import { type Column, column, DataTable, lead } from "../view/data-table.tsx";
import {
  Ago,
  Badge,
  Button,
  CopyButton,
  Empty,
  PageHead,
  problem,
  SureButton,
  TwoLines,
  Unloaded,
  useLoaded,
} from "../view/parts.tsx";

const SCOPES = ["tools", "sessions", "programs", "review", "dashboard", "admin"];

/** What a `NewToken` has. */
const TOKEN = {
  required: ["name", "scopes"],
  properties: {
    name: {
      ...{ type: "string", title: "Name", description: "Letters, digits and - . _" },
      examples: ["laptop-of-ann"],
    },
    scopes: {
      ...{ type: "array", title: "May use", default: ["tools"] },
      items: { type: "string", enum: SCOPES },
    },
    days: {
      ...{ type: "integer", title: "Days until it ends", default: 90 },
      description: "Empty: it does not end",
    },
  },
};

const STILL_ACCEPTED =
  "The other gateways of the fleet accept it until this one reaches NATS and tells them.";

export function TokensPage(): JSX.Element {
  const [found, failed, reload] = useLoaded(
    () => get<{ tokens: readonly TokenRow[] }>("/tokens"),
    [],
  );
  const [secret, setSecret] = useState<string | undefined>(undefined);
  const [isMaking, setMaking] = useState(false);
  if (found === undefined) return <Unloaded what="The tokens" failed={failed} />;
  const isAllowed = mayDo("admin");
  const revoke = async ({ id, name }: TokenRow): Promise<void> => {
    const { isShared } = await post<RevokedToken>(`/tokens/${encodeURIComponent(id)}/revoke`);
    reload();
    if (!isShared) problem.value = `${name} is revoked here. ${STILL_ACCEPTED}`;
  };
  const columns: readonly Column<TokenRow>[] = [
    lead("Token", "minmax(8rem, 2fr)", ({ name, id }) => (
      <TwoLines main={name} sub={id} code="sub" />
    )),
    column("Scopes", "minmax(10rem, 3fr)", ({ scopes }) => scopes.join(", ")),
    column("Created", "5rem", ({ created }) => <Ago at={created} />),
    column("Used", "5rem", ({ used }) => (used === undefined ? "never" : <Ago at={used} />)),
    column("Ends", "7rem", ({ expires, isExpired }) =>
      isExpired ? (
        <Badge tone="bad">expired</Badge>
      ) : expires === undefined ? (
        "never"
      ) : (
        new Date(expires).toISOString().slice(0, 10)
      ),
    ),
    ...(isAllowed
      ? [
          column<TokenRow>("Action", "6rem", (token) => (
            <SureButton says="Revoke" what={token.name} act={() => revoke(token)} />
          )),
        ]
      : []),
  ];
  return (
    <>
      <PageHead title="Tokens">
        {isAllowed ? (
          <Button class="primary" onClick={() => setMaking(!isMaking)}>
            New token
          </Button>
        ) : null}
      </PageHead>
      {secret === undefined ? null : <Secret token={secret} onClose={() => setSecret(undefined)} />}
      {isMaking ? (
        <DeclaredForm
          class="card"
          label="New token"
          schema={TOKEN}
          submit="Create"
          onSubmit={async (wanted) => {
            setSecret((await post<{ token: string }>("/tokens", wanted)).token);
            setMaking(false);
            reload();
          }}
        />
      ) : null}
      <DataTable
        label="Tokens"
        rows={found.tokens}
        columns={columns}
        keyOf={({ id }) => id}
        empty={<Empty title="No tokens">A token lets another program or person in.</Empty>}
      />
    </>
  );
}

/** The secret of a new token: shown once, and hidden until it is asked for. */
function Secret({ token, onClose }: { token: string; onClose: () => void }): JSX.Element {
  const [isShown, setShown] = useState(false);
  return (
    <div class="banner good secret" role="status">
      <span>This is the only time that the token can be copied.</span>
      <code>{isShown ? token : "•".repeat(24)}</code>
      <Button class="quiet" onClick={() => setShown(!isShown)}>
        {isShown ? "Hide" : "Reveal"}
      </Button>
      <CopyButton text={token} label="Copy token" />
      <Button class="quiet" onClick={onClose}>
        Close
      </Button>
    </div>
  );
}
