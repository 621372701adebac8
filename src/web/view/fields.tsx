import type { ComponentChildren, JSX } from "preact";

type FormProps = Omit<JSX.IntrinsicElements["form"], "onSubmit"> & { readonly onSend: () => void };

/** A form that the page sends, and not the browser. */
export function Form({ onSend, ...rest }: FormProps): JSX.Element {
  const submit = (event: Event): void => {
    event.preventDefault();
    onSend();
  };
  return <form {...rest} onSubmit={submit} />;
}

/** The button that sends a form. */
export function Submit(props: JSX.IntrinsicElements["button"]): JSX.Element {
  return <button class="primary" {...props} type="submit" />;
}

type InputProps = Pick<
  JSX.IntrinsicElements["input"],
  "checked" | "class" | "name" | "placeholder" | "required" | "value"
>;

/** A text in one line. What explains it is below it. */
export function TextField({
  label,
  onText,
  children,
  isWide,
  isSecret,
  ...rest
}: InputProps & {
  readonly label: string;
  readonly onText: (text: string, field: HTMLInputElement) => void;
  readonly children?: ComponentChildren;
  readonly isWide?: boolean;
  readonly isSecret?: boolean;
}): JSX.Element {
  return (
    <label class={isWide === true ? "field wide" : "field"}>
      <span>{label}</span>
      <input
        {...rest}
        {...(isSecret === true ? { type: "password", autocomplete: "off" } : {})}
        onInput={({ currentTarget: it }) => onText(it.value, it)}
      />
      {children}
    </label>
  );
}

export function CheckField({
  label,
  isOneOfSome,
  onCheck,
  ...rest
}: InputProps & {
  readonly label: string;
  readonly isOneOfSome?: boolean;
  readonly onCheck: (isChecked: boolean) => void;
}): JSX.Element {
  return (
    <label class="check">
      <input
        {...rest}
        type={isOneOfSome === true ? "radio" : "checkbox"}
        onChange={({ currentTarget }) => onCheck(currentTarget.checked)}
      />
      {label}
    </label>
  );
}
