/** What a read by key asks for: which attributes, and how its units count. */
import type { Item } from "../core/types.ts";
import {
  readPlaceholders,
  type DocumentPath,
  type PlaceholderInput,
} from "../expressions/placeholders.ts";
import { bindProjection, project } from "../expressions/projections.ts";

/** Of GetItem, and of each table or item that others read by key. */
export type ProjectedInput = PlaceholderInput & {
  readonly TableName?: string | undefined;
  readonly Key?: unknown;
  readonly ConsistentRead?: boolean | undefined;
  readonly ProjectionExpression?: string | undefined;
};

export function projectionOf(input: ProjectedInput): readonly DocumentPath[] | undefined {
  const { ProjectionExpression: projection } = input;
  const placeholders = readPlaceholders(input, { conditions: [], projection });
  const paths = bindProjection(placeholders, projection);
  placeholders.requireAllUsed();
  return paths;
}

export function projected(item: Item, paths: readonly DocumentPath[] | undefined): Item {
  return paths === undefined ? item : project(item, paths);
}

/** Reads are consistent, whatever was asked for; they count as what was asked for. */
export function kindOfRead({ ConsistentRead }: ProjectedInput): "consistent" | "eventual" {
  return ConsistentRead === true ? "consistent" : "eventual";
}
