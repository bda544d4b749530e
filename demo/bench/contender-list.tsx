// Lists the contenders, says what a settled write means for each, and names those that cannot take part here.

import { SMALL_CONTENDERS } from './contenders.ts';
import { absent, CONTENDERS } from './run.ts';

const { ours, sahpoolWal, idbStrict, idbRelaxed, limits } = SMALL_CONTENDERS;

const MEANINGS: Readonly<Record<string, string>> = {
  [ours.name]: 'This package. A write that has resolved is flushed to the device.',
  [sahpoolWal.name]:
    'The official SQLite build on its pool of OPFS handles, with a write-ahead log and synchronous=FULL: flushed to the device.',
  [idbStrict.name]: 'IndexedDB by idb, durability “strict”: flushed to the device.',
  [idbRelaxed.name]:
    'IndexedDB by idb, durability “relaxed”: handed to the operating system. A power failure may lose it, so it is not a durable peer.',
  [limits.name]:
    'No library: one message to a worker, one write and one flush of a file, one prepared statement in memory. The least that a call can cost.',
};

export function ContenderList() {
  return (
    <details class="bench-about" open={Object.keys(absent.value).length > 0}>
      <summary>The contenders, and the meaning of a resolved write</summary>
      <dl>
        {CONTENDERS.map(({ name }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {MEANINGS[name]}
              {absent.value[name] !== undefined && (
                <strong class="bench-absent" role="status">
                  Cannot run in this browser: {absent.value[name]}
                </strong>
              )}
            </dd>
          </div>
        ))}
      </dl>
      <p class="soft">
        In a private window, some browsers keep files in memory or refuse them: flushes then cost
        nothing, or a contender is missing. wa-sqlite, sqlocal and PGlite are not on this page,
        because they are large or need a cross-origin isolated page: <code>npm run bench</code>{' '}
        compares them too.
      </p>
    </details>
  );
}
