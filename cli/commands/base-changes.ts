/** What subcommands of `tidemark base` share that change something. */
import { InvalidRequestError } from "../../core/errors.ts";
import type { NamedBase } from "../../engine/base/base-name.ts";
import type { LooksAtBases } from "../../engine/base/types.ts";
import { connect } from "../../sdk/connect.ts";
import type { ExitCode, Shell } from "../shell/shell.ts";
import { writableTargetOf, type WritingOptions } from "../target.ts";

export function unknownBase({ name, id }: NamedBase): InvalidRequestError {
  return new InvalidRequestError("id", `there is no BASE transaction ${name}/${id}`);
}

export async function withBases(
  shell: Shell,
  options: WritingOptions,
  act: (bases: LooksAtBases) => Promise<ExitCode>,
): Promise<ExitCode> {
  const connection = await connect(await writableTargetOf(options, shell.terminal));
  try {
    return await act(await connection.engine.base());
  } finally {
    await connection.engine.close();
    await connection.close();
  }
}
