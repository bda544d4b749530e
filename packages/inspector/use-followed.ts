// A live value inside the inspector: its latest result, and the changes of the commit before it.

import type { Live } from '@ctx-storage/core/storage';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface FollowedValue<T, About> {
  readonly value: T | undefined;
  readonly error: unknown;
  /** The inputs of the value: an earlier value stays until the value of the new inputs has arrived. */
  readonly about: About | undefined;
}

/** Follows the result of `open`, again when one of the inputs changes; null: follows nothing. */
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

/** How long a change stays marked. */
const MARK_MS = 3000;

/**
 * The names whose text differs from the last time, for some seconds. The first texts of a subject are not
 * changes.
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
