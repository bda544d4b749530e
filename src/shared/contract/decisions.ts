// Defines and checks the decisions about the conflicts of a merge.

import { checkArray, checkFields, checkString, type FieldCheck, malformed } from './arguments.ts';

/** The most conflicts of a merge that are listed and decided one by one. */
export const CONFLICTS_MAX = 10_000;

/**
 * The decisions about conflicts: one decision for all of them, or one for each conflict, as the conflicts
 * were listed in the state of the bookmark `at`.
 */
export interface Decisions {
  readonly at: string | null;
  readonly each: readonly ('ours' | 'theirs')[];
}

export const checkDecisions: FieldCheck<Decisions | null> = (name, value) => {
  if (value === null) return null;
  const { at, each } = checkFields(name, value);
  return {
    at: at === null ? null : checkString('at', at),
    each: checkArray('each', each, CONFLICTS_MAX).map((decision) => {
      if (decision === 'ours' || decision === 'theirs') return decision;
      throw malformed('decision', "'ours' or 'theirs'");
    }),
  };
};
