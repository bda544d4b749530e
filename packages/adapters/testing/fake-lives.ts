// A handle whose live values give the results of the test.

import type { Live } from '../../../src/shared/contract/live.ts';
import { liveIdentity } from '../../../src/shared/live/live-identity.ts';
import { type LiveSink, LiveValue } from '../../../src/shared/live/live-value.ts';
import { deserialize } from '../../../src/shared/values/decode.ts';
import { serialize } from '../../../src/shared/values/encode.ts';

/** `read` makes live values as `storage.live` does, a new one each time. */
export function fakeLives() {
  const owner = {};
  const open = new Map<LiveSink, unknown>();
  const counts = { opened: 0, closed: 0 };
  const sinksOf = (key: unknown) => [...open].filter(([, each]) => each === key);
  const each = (key: unknown, report: (sink: LiveSink) => void) => {
    for (const [sink] of sinksOf(key)) report(sink);
  };
  return {
    counts,
    open: () => [...open.values()],
    read<T = string>(key: unknown): Live<T> {
      const source = (sink: LiveSink) => {
        open.set(sink, key);
        counts.opened += 1;
        return () => {
          open.delete(sink);
          counts.closed += 1;
        };
      };
      return new LiveValue<T>(source, deserialize as never, liveIdentity(owner, key));
    },
    result: (key: unknown, value: unknown) => each(key, (sink) => sink.result(serialize(value))),
    kept: (key: unknown, value: unknown) => each(key, (sink) => void sink.kept?.(serialize(value))),
    fail: (key: unknown, error: unknown) => each(key, (sink) => sink.failed(error)),
  };
}
