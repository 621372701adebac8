import type { JSX } from "preact";

import { CheckField } from "../view/fields.tsx";
import type { ChoiceGroup, SettingChoice } from "./open-session.ts";

/** The mode, the model and the other options that an agent offers. */
export function SettingFields(props: {
  readonly choices: readonly SettingChoice[];
  readonly choose: (setting: SettingChoice, value: string | boolean) => void;
}): JSX.Element {
  const { choices, choose } = props;
  return (
    <>
      {choices.map((setting) =>
        typeof setting.value === "boolean" ? (
          <CheckField
            key={setting.id}
            label={setting.name}
            checked={setting.value}
            onCheck={(isChecked) => choose(setting, isChecked)}
          />
        ) : (
          <select
            key={setting.id}
            aria-label={setting.name}
            title={setting.name}
            value={setting.value}
            onChange={(event) => choose(setting, event.currentTarget.value)}
          >
            {setting.groups.map((group) =>
              group.name === undefined ? (
                <Choices group={group} />
              ) : (
                <optgroup key={group.name} label={group.name}>
                  <Choices group={group} />
                </optgroup>
              ),
            )}
          </select>
        ),
      )}
    </>
  );
}

function Choices({ group }: { readonly group: ChoiceGroup }): JSX.Element {
  return (
    <>
      {group.choices.map(({ value, name }) => (
        <option key={value} value={value}>
          {name}
        </option>
      ))}
    </>
  );
}
