/** What all route handlers have around them: errors become problems. */
import { problemOf, problemResponse, RequestProblem } from "../http/problems.ts";

export async function answered(handle: () => Promise<Response>): Promise<Response> {
  try {
    return await handle();
  } catch (error) {
    const problem = problemOf(error);
    if (problem.status === 500) console.error(error);
    return problemResponse(problem);
  }
}

export function notFound(detail: string): RequestProblem {
  return new RequestProblem({ status: 404, code: "not-found", title: "Not found", detail });
}
