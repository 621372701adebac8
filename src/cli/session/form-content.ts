import { contentOf, type FieldValues, type QuestionField } from "../../base/question-fields.ts";
import type { JsonSchema } from "../../tool/tool.ts";

/** ACP elicitation: a person does not answer. */
export const DECLINED = { action: "decline" } as const;

/** The answer to a form, or what is wrong with it. */
export async function formAnswer(
  schema: unknown,
  fields: readonly QuestionField[],
  values: FieldValues,
): Promise<{ readonly answer: object } | { readonly problem: string }> {
  try {
    const content = contentOf(fields, values);
    const { compileSchema } = await import("../../tool/schema/compile-schema.ts");
    const problem = compileSchema((schema ?? {}) as JsonSchema)(content);
    return problem === undefined ? { answer: { action: "accept", content } } : { problem };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}
