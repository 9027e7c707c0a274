/** What all route handlers have around them: errors become problems. */
import { problemOf, problemResponse } from "../http/problems.ts";

export async function answered(handle: () => Promise<Response>): Promise<Response> {
  try {
    return await handle();
  } catch (error) {
    const problem = problemOf(error);
    if (problem.status === 500) console.error(error);
    return problemResponse(problem);
  }
}
