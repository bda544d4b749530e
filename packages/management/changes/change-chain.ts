// Applies the dated changes that a call on a given day needs, in the order of their dates.

import type { Answer, Call, Method } from '../call/call.ts';
import { RouteTable } from '../routes/route-table.ts';
import { SCHEDULE } from '../schedule/data.ts';
import type { Operation } from '../schedule/entry.ts';
import type { Change, ChangeContext } from './change.ts';
import { CHANGES } from './changes.ts';

interface Dated {
  readonly change: Change;
  readonly date: string;
  readonly routes: RouteTable<Change>;
}

/** The changes that were applied to one call; its answer passes through them in reverse. */
export type Steps = readonly { readonly change: Change; readonly call: Call }[];

export class ChangeChain {
  readonly #dated: readonly Dated[];
  readonly #known = new RouteTable<Change>();

  /**
   * `dateOf` returns dates of the schedule in use; a change without a date never applies. The operations
   * come from the described schedule, because the code of a change is written for them.
   */
  constructor(dateOf: (id: string) => string | undefined) {
    this.#dated = CHANGES.flatMap((change) => {
      const date = dateOf(change.id);
      if (date === undefined) return [];
      const routes = new RouteTable<Change>();
      for (const { method, path } of operationsOf(change)) {
        routes.add(method, path, change);
        this.#known.add(method, path, change);
      }
      return [{ change, date, routes }];
    }).sort((a, b) => (a.date < b.date ? -1 : a.date > b.date ? 1 : 0));
  }

  /** Matches the operations of older forms, some of whose paths the newest form lacks. */
  match(method: Method, path: string) {
    return this.#known.match(method, path);
  }

  /** Converts the call to the newest form. */
  async up(
    call: Call,
    at: string,
    context: ChangeContext,
  ): Promise<{ readonly call: Call; readonly steps: Steps }> {
    const steps: { change: Change; call: Call }[] = [];
    for (const { change, date, routes } of this.#dated) {
      if (at >= date || routes.match(call.method, call.path).kind !== 'route') continue;
      steps.push({ change, call });
      if (change.request) call = await change.request(call, context);
    }
    return { call, steps };
  }

  /** Converts the answer to the form of the call's day. */
  async down(answer: Answer, steps: Steps, context: ChangeContext): Promise<Answer> {
    for (const { change, call } of [...steps].reverse()) {
      if (change.response) answer = await change.response(answer, call, context);
    }
    return answer;
  }
}

function operationsOf({ id }: Change): readonly Operation[] {
  const entry = SCHEDULE.find((one) => one.id === id);
  return [...(entry?.operations ?? []), ...(entry?.affected ?? [])];
}
