// Shows the strip at the bottom: whether the storage answers, the size of the database, and the alarm.

import { effect, signal } from '@preact/signals';
import { revision } from '../changes.ts';
import { connect, connection, problemOfCall, storage } from '../storage.ts';
import { formatBytes, formatDateTime, formatShortTime } from './format.ts';
import { showToast } from './messages.tsx';

interface Facts {
  readonly sizeBytes: number;
  readonly alarmMs: number | null;
}

const ALARM_DELAY_MS = 60 * 60 * 1000;

const facts = signal<Facts | null>(null);
let question = 0;

/** Starts to read the values of the strip whenever the data changes. */
export function startStatus(): void {
  effect(() => {
    void revision.value;
    void read();
  });
}

export function StatusStrip() {
  const known = facts.value;
  return (
    <footer class="strip">
      <ConnectionState />
      {known !== null && (
        <dl class="facts">
          <div>
            <dt>Database</dt>
            <dd>{formatBytes(known.sizeBytes)}</dd>
          </div>
          <div>
            <dt>Alarm</dt>
            <dd title={known.alarmMs === null ? '' : formatDateTime(known.alarmMs)}>
              {known.alarmMs === null ? 'none' : formatShortTime(known.alarmMs)}{' '}
              <button type="button" class="link" onClick={() => void toggleAlarm(known.alarmMs)}>
                {known.alarmMs === null ? 'set in 1 h' : 'delete'}
              </button>
            </dd>
          </div>
        </dl>
      )}
    </footer>
  );
}

function ConnectionState() {
  const state = connection.value;
  switch (state.kind) {
    case 'lost':
      return (
        <p class="connection" data-state="lost" role="alert">
          The storage does not answer (<code>{state.problem.code}</code>).{' '}
          <button type="button" class="link" onClick={() => void connect()}>
            Try again
          </button>
        </p>
      );
    case 'reopening':
      return (
        <p class="connection" data-state="reopening" role="status">
          The storage worker stopped; starting it again…
        </p>
      );
    default:
      return (
        <p class="connection" data-state="open">
          Stored in this browser
        </p>
      );
  }
}

async function read(): Promise<void> {
  question += 1;
  const asked = question;
  try {
    const [sizeBytes, alarmMs] = await Promise.all([
      storage().sql.databaseSize,
      storage().getAlarm(),
    ]);
    if (asked === question) facts.value = { sizeBytes, alarmMs };
  } catch (error) {
    problemOfCall(error);
    if (asked === question) facts.value = null;
  }
}

async function toggleAlarm(alarmMs: number | null): Promise<void> {
  try {
    if (alarmMs === null) await storage().setAlarm(Date.now() + ALARM_DELAY_MS);
    else await storage().deleteAlarm();
  } catch (error) {
    const { code, message } = problemOfCall(error);
    showToast({ text: `The alarm was not changed. ${code}: ${message}` });
  }
}
