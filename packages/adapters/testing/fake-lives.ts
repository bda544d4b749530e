// A fake handle whose live values have the results that a test gives them.

import type { Live } from '../../../src/shared/contract/live.ts';
import { liveIdentity } from '../../../src/shared/live/live-identity.ts';
import { type LiveSink, LiveValue } from '../../../src/shared/live/live-value.ts';
import { deserialize } from '../../../src/shared/values/decode.ts';
import { serialize } from '../../../src/shared/values/encode.ts';

/** Makes the fake handle. `read` returns a new live value for each call, as `storage.live` does. */
export function fakeLives() {
  const owner = {};
  const open = new Map<LiveSink, unknown>();
  const counts = { opened: 0, closed: 0 };
  const forEachSink = (key: unknown, report: (sink: LiveSink) => void) => {
    for (const [sink, sinkKey] of [...open]) if (sinkKey === key) report(sink);
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
    result: (key: unknown, value: unknown) =>
      forEachSink(key, (sink) => sink.result(serialize(value))),
    kept: (key: unknown, value: unknown) =>
      forEachSink(key, (sink) => void sink.kept?.(serialize(value))),
    fail: (key: unknown, error: unknown) => forEachSink(key, (sink) => sink.failed(error)),
  };
}
