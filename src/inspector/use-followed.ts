// A live value inside the inspector: its latest result, and what the commit before it has changed.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { Live } from '../contract/live.ts';

export interface FollowedValue<T> {
  readonly value: T | undefined;
  readonly error: unknown;
}

/** Follows what `open` gives, again when one of the inputs changes; null: nothing is followed. */
export function useFollowed<T>(
  open: () => Live<T> | null,
  inputs: readonly unknown[],
): FollowedValue<T> {
  const [result, setResult] = useState<FollowedValue<T>>({ value: undefined, error: undefined });
  useEffect(() => {
    const live = open();
    if (live === null) return;
    return live.subscribe((value) => setResult({ value, error: undefined }), {
      onError: (error) => setResult({ value: undefined, error }),
    });
  }, inputs);
  return result;
}

/** How long what has changed stays marked. */
const MARK_MS = 3000;

/**
 * The names whose text differs from the last time, for some seconds. The first texts of a subject are not
 * changes.
 */
export function useChanges(
  texts: ReadonlyMap<string, string> | undefined,
  subject: string,
): ReadonlySet<string> {
  const last = useRef<{ readonly subject: string; texts: ReadonlyMap<string, string> }>(undefined);
  const [changed, setChanged] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    if (texts === undefined) return;
    const before = last.current?.subject === subject ? last.current.texts : undefined;
    last.current = { subject, texts };
    if (before === undefined) return;
    const names = [...texts].filter(([name, text]) => before.get(name) !== text);
    if (names.length === 0) return;
    setChanged(new Set(names.map(([name]) => name)));
    const timer = setTimeout(() => setChanged(new Set()), MARK_MS);
    return () => clearTimeout(timer);
  }, [texts, subject]);
  return changed;
}
