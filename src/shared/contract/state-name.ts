// Defines and checks the names of a state of an object, or of one of its branches: the current state, or the state at a
// moment.

import { checkFields, checkNumber, type FieldCheck, stringOrNull } from './arguments.ts';
import { checkBranchId } from './branch-arguments.ts';

/** Checks a moment: a bookmark, or a time in milliseconds. */
export const checkMoment: FieldCheck<string | number> = (name, value) =>
  typeof value === 'string' ? value : checkNumber(name, value);

/** A state of a branch: at one of its own bookmarks, or the current state. */
export interface BranchState {
  readonly branch: string;
  readonly bookmark: string | null;
}

/** A state of an object or of one of its branches: a bookmark, a time or a branch; null for the default state. */
export type StateName = string | number | BranchState | null;

export const checkStateName: FieldCheck<StateName> = (name, value, operation) => {
  if (value === null) return null;
  if (typeof value !== 'object') return checkMoment(name, value, operation);
  const { branch, bookmark } = checkFields(name, value);
  return {
    branch: checkBranchId('branch', branch, operation),
    bookmark: stringOrNull('bookmark', bookmark, operation),
  };
};
