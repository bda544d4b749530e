// A program's findings in two engines, one by one.

import { isDeepStrictEqual } from 'node:util';
import type { Findings } from '../libraries/engines.ts';

export interface Comparison {
  readonly equal: readonly string[];
  readonly different: readonly string[];
}

/** A finding that only one engine has is different. */
export function compareFindings(here: Findings, there: Findings): Comparison {
  const names = [...new Set([...Object.keys(here), ...Object.keys(there)])];
  const isEqual = (name: string) =>
    name in here && name in there && isDeepStrictEqual(here[name], there[name]);
  return {
    equal: names.filter(isEqual),
    different: names.filter((name) => !isEqual(name)),
  };
}
