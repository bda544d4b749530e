// Runs one step of an attack on an object's storage from inside, and describes its result.
//
// A step is SQL, or an operation of the storage: `.put key`, `.delete key`, `.keys`, `.alarm`, `.no-alarm`,
// `.deleteAll`, `.turn` (commits earlier writes).

/** The members of the storage that an attack uses; both engines have them. */
export interface AttackedStorage {
  put(key: string, value: unknown): Promise<void>;
  delete(key: string): Promise<boolean>;
  list(): Promise<Map<string, unknown>>;
  setAlarm(time: number): Promise<void>;
  deleteAlarm(): Promise<void>;
  deleteAll(): Promise<void>;
  sync(): Promise<void>;
  readonly sql: { exec(sql: string): { raw(): Iterable<unknown[]> } };
}

export const REFUSED = 'refused';
const ALARM_IN_MS = 1_000_000;

/** Rows or result as JSON, or that it was refused. */
export async function take(storage: AttackedStorage, step: string): Promise<string> {
  try {
    return JSON.stringify(await run(storage, step)) ?? 'done';
  } catch {
    return REFUSED;
  }
}

async function run(storage: AttackedStorage, step: string): Promise<unknown> {
  const [operation, key = ''] = step.split(' ');
  switch (operation) {
    case '.put':
      return storage.put(key, 1);
    case '.delete':
      return storage.delete(key);
    case '.keys':
      return [...(await storage.list()).keys()];
    case '.alarm':
      return storage.setAlarm(Date.now() + ALARM_IN_MS);
    case '.no-alarm':
      return storage.deleteAlarm();
    case '.deleteAll':
      return storage.deleteAll();
    case '.turn':
      await storage.sync();
      return new Promise<void>((resolve) => setTimeout(resolve, 1));
    default:
      return [...storage.sql.exec(step).raw()].map((row) => row.map(plain));
  }
}

function plain(value: unknown): unknown {
  return value instanceof ArrayBuffer ? `${value.byteLength} bytes` : value;
}
