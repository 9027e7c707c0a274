/** The one option that the examples' commands share. */
import { Option } from "commander";

/** Where `npm start` serves unless told otherwise. */
export const defaultEndpoint = "http://127.0.0.1:4600";

export function endpointOption(): Option {
  return new Option("--endpoint <url>", "address of a running stack (npm start)").default(
    defaultEndpoint,
  );
}
