// Applies the dated changes that a call on a given day needs, in the order of their dates.

import type { Answer, Call, Method } from '../call/call.ts';
import { RouteTable } from '../routes/route-table.ts';
import { SCHEDULE } from '../schedule/data.ts';
import type { Operation } from '../schedule/entry.ts';
import type { Change, ChangeContext } from './change.ts';
import { CHANGES } from './changes.ts';

interface DatedChange {
  readonly change: Change;
  readonly date: string;
  readonly routes: RouteTable<Change>;
}

/** The changes that were applied to one call. Its answer passes through them in reverse order. */
export type AppliedChanges = readonly { readonly change: Change; readonly call: Call }[];

export class ChangeChain {
  readonly #datedChanges: readonly DatedChange[];
  readonly #olderOperations = new RouteTable<Change>();

  /**
   * `dateOf` returns the date of a change in the schedule in use; a change without a date never applies. The operations
   * of a change always come from the built-in schedule, because its code is written for them.
   */
  constructor(dateOf: (id: string) => string | undefined) {
    this.#datedChanges = CHANGES.flatMap((change) => {
      const date = dateOf(change.id);
      if (date === undefined) return [];
      const routes = new RouteTable<Change>();
      for (const { method, path } of operationsOf(change)) {
        routes.add(method, path, change);
        this.#olderOperations.add(method, path, change);
      }
      return [{ change, date, routes }];
    }).sort((a, b) => (a.date < b.date ? -1 : a.date > b.date ? 1 : 0));
  }

  /**
   * Matches the operations that any change converts, some of which do not exist in the newest form of the interface.
   */
  match(method: Method, path: string) {
    return this.#olderOperations.match(method, path);
  }

  /** Converts the call from the form of its day to the newest form of the interface. */
  async toNewestForm(
    call: Call,
    at: string,
    context: ChangeContext,
  ): Promise<{ readonly call: Call; readonly steps: AppliedChanges }> {
    const steps: { change: Change; call: Call }[] = [];
    for (const { change, date, routes } of this.#datedChanges) {
      if (at >= date || routes.match(call.method, call.path).kind !== 'route') continue;
      steps.push({ change, call });
      if (change.request) call = await change.request(call, context);
    }
    return { call, steps };
  }

  /** Converts the answer to the form of the call's day. */
  async toFormOfDay(
    answer: Answer,
    steps: AppliedChanges,
    context: ChangeContext,
  ): Promise<Answer> {
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
