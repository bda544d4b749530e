// The panel of hosted objects: rooms by name, their messages, their clock, and the source of their class.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import roomSource from '../objects/room.ts?raw';
import { counted, formatBytes, formatDateTime } from '../ui/format.ts';
import { ProblemNote } from '../ui/problem-note.tsx';
import {
  advanceClock,
  closeRoom,
  deleteRoom,
  heldTime,
  type OpenRoom,
  openRoom,
  post,
  problem,
  type RoomSummary,
  refreshRooms,
  resumeClock,
  room,
  rooms,
} from './rooms.ts';

const HOUR_MS = 3_600_000;

export function ObjectPanel() {
  useEffect(() => void refreshRooms(), []);
  const open = room.value;
  return (
    <div class="panel-body">
      {problem.value !== null && (
        <ProblemNote title="The objects did not answer." problem={problem.value}>
          <button type="button" onClick={() => void refreshRooms()}>
            Try again
          </button>
        </ProblemNote>
      )}
      {open === null ? <Rooms list={rooms.value} /> : <Room room={open} />}
      <ObjectsClock />
      <ClassSource isOpen={rooms.value?.length === 0} />
    </div>
  );
}

function Rooms({ list }: { list: readonly RoomSummary[] | null }) {
  const name = useSignal('');
  return (
    <>
      <form
        class="list-head"
        onSubmit={(event) => {
          event.preventDefault();
          const wanted = name.value.trim();
          if (wanted !== '') void openRoom(wanted);
        }}
      >
        <input
          class="search"
          aria-label="Name of a room"
          placeholder="Any name, e.g. lobby"
          autocomplete="off"
          value={name}
          onInput={(event) => {
            name.value = event.currentTarget.value;
          }}
        />
        <button type="submit" class="primary">
          Open room
        </button>
      </form>
      {list === null && <p class="empty">Starting the objects…</p>}
      {list?.length === 0 && (
        <div class="empty">
          <p class="empty-title">No rooms yet</p>
          <p>
            Each name is an object of its own, with its own SQLite database, alarm and WebSockets.
            Its class is written for Cloudflare Workers and runs here unchanged.
          </p>
        </div>
      )}
      {list !== null && list.length > 0 && (
        <ul class="entries">
          {list.map((summary) => (
            <RoomLine key={summary.name} summary={summary} />
          ))}
        </ul>
      )}
    </>
  );
}

function RoomLine({ summary: { name, sizeBytes, nextAlarm } }: { summary: RoomSummary }) {
  return (
    <li class="entry room-line">
      <button type="button" class="quiet room-name" onClick={() => void openRoom(name)}>
        {name}
      </button>
      <button
        type="button"
        class="quiet"
        aria-label={`Delete ${name}`}
        onClick={() => void deleteRoom(name)}
      >
        Delete
      </button>
      <span class="room-facts entry-type">
        <span>{formatBytes(sizeBytes)}</span>
        <span>{nextAlarm === null ? 'no alarm' : `alarm ${formatDateTime(nextAlarm)}`}</span>
      </span>
    </li>
  );
}

function Room({ room: { name, topic, messages, forgetsAt } }: { room: OpenRoom }) {
  const text = useSignal('');
  return (
    <>
      <div class="card">
        <p class="result-facts" role="status">
          <strong>{topic}</strong>
          <span>{counted(messages.length, 'message')}</span>
          <span>
            {forgetsAt === null
              ? 'nothing to delete'
              : `deletes the oldest at ${formatDateTime(forgetsAt)}`}
          </span>
        </p>
        <div class="actions">
          <button type="button" onClick={closeRoom}>
            All rooms
          </button>
        </div>
      </div>
      {messages.length > 0 && (
        <ul class="entries" aria-label={`Messages of ${name}`}>
          {messages.map((message) => (
            <li key={message.id} class="entry message">
              <span class="entry-type">
                {message.author} · {formatDateTime(message.at)}
              </span>
              <p>{message.text}</p>
            </li>
          ))}
        </ul>
      )}
      <form
        class="list-head"
        onSubmit={(event) => {
          event.preventDefault();
          void post(text.value).then((isPosted) => {
            if (isPosted) text.value = '';
          });
        }}
      >
        <input
          class="search"
          aria-label="Message"
          placeholder="Message"
          autocomplete="off"
          value={text}
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
        />
        <button type="submit" class="primary">
          Post
        </button>
      </form>
    </>
  );
}

function ObjectsClock() {
  return (
    <div class="card">
      <p class="result-facts" role="status">
        <strong>Clock of the objects</strong>
        <span>
          {heldTime.value === null ? 'real time' : `stopped at ${formatDateTime(heldTime.value)}`}
        </span>
      </p>
      <div class="actions">
        <button type="button" onClick={() => void advanceClock(HOUR_MS)}>
          Forward 1 hour
        </button>
        <button type="button" onClick={() => void advanceClock(24 * HOUR_MS)}>
          Forward 1 day
        </button>
        {heldTime.value !== null && (
          <button type="button" class="quiet" onClick={() => void resumeClock()}>
            Back to real time
          </button>
        )}
      </div>
    </div>
  );
}

function ClassSource({ isOpen }: { isOpen: boolean }) {
  return (
    <details class="card" open={isOpen}>
      <summary>Source of the class</summary>
      <pre class="source">{roomSource}</pre>
    </details>
  );
}
