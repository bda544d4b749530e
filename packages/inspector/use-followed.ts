// The hooks for live values in the inspector: one gives the latest result, the other the names that have changed.

import type { Live } from '@ctx-storage/core/storage';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface FollowedValue<T, About> {
  readonly value: T | undefined;
  readonly error: unknown;
  /**
   * Names the inputs of this value. After a change of the inputs, the earlier value stays until the new one has
   * arrived.
   */
  readonly about: About | undefined;
}

/**
 * Follows the live value of `open`, which is called again when an input changes. It follows nothing if `open` returns
 * null.
 */
export function useFollowed<T, About = undefined>(
  open: () => Live<T> | null,
  inputs: readonly unknown[],
  about?: About,
): FollowedValue<T, About> {
  const [result, setResult] = useState<FollowedValue<T, About>>({
    value: undefined,
    error: undefined,
    about: undefined,
  });
  useEffect(() => {
    const live = open();
    if (live === null) return;
    const arrived = (value: T | undefined) => {
      if (value !== undefined) setResult({ value, error: undefined, about });
    };
    return live.subscribe(arrived, {
      onError: (error) => setResult({ value: undefined, error, about }),
    });
  }, inputs);
  return result;
}

/** How long a changed row or key stays marked. */
const MARK_MS = 3000;

/**
 * Returns for some seconds the names whose text has changed. The first texts of a subject do not count as changes.
 */
export function useChanges(
  texts: ReadonlyMap<string, string> | undefined,
  subject: string | undefined,
): ReadonlySet<string> {
  const last = useRef<{ readonly subject: string | undefined; texts: ReadonlyMap<string, string> }>(
    undefined,
  );
  const [changed, setChanged] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    if (texts === undefined) return;
    const known = last.current;
    const before = known !== undefined && known.subject === subject ? known.texts : undefined;
    last.current = { subject, texts };
    if (before === undefined) return;
    const names = [...texts].filter(([name, text]) => before.get(name) !== text);
    if (names.length === 0) return;
    setChanged(new Set(names.map(([name]) => name)));
    const timer = setTimeout(() => setChanged(new Set()), MARK_MS);
    return () => {
      clearTimeout(timer);
      setChanged(new Set());
    };
  }, [texts, subject]);
  return changed;
}
