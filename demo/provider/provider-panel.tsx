// Shows the panel of the emulated provider: a request, a date, and the changes of that day.

import { ProblemNote } from '../ui/problem-note.tsx';
import {
  type Answer,
  body,
  bookmark,
  choose,
  DATES,
  date,
  EXAMPLES,
  type Exchange,
  exchange,
  goBack,
  method,
  path,
  remember,
  scheduleOf,
  send,
  stepDate,
} from './provider.ts';

const METHODS = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'];

export function ProviderPanel() {
  return (
    <div class="panel-body">
      <div class="chips">
        <span class="chips-label" id="api-examples">
          Examples
        </span>
        {EXAMPLES.map((example) => (
          <button
            key={example.label}
            type="button"
            class="chip"
            aria-describedby="api-examples"
            onClick={() => choose(example)}
          >
            {example.label}
          </button>
        ))}
      </div>
      <DateControl />
      <RequestForm />
      <ExchangeView exchange={exchange.value} />
      <Today at={date.value} />
    </div>
  );
}

function DateControl() {
  return (
    <div class="list-head">
      <button
        type="button"
        disabled={date.value <= DATES[0]!}
        onClick={() => stepDate(-1)}
        aria-label="Earlier change"
      >
        ◀
      </button>
      <input
        class="search"
        type="date"
        aria-label="Date"
        value={date}
        onChange={(event) => {
          const { value } = event.currentTarget;
          if (value === '') return;
          date.value = value;
          if (method.value === 'GET') void send();
        }}
      />
      <button
        type="button"
        disabled={date.value >= DATES.at(-1)!}
        onClick={() => stepDate(1)}
        aria-label="Later change"
      >
        ▶
      </button>
    </div>
  );
}

function RequestForm() {
  return (
    <form
      class="request"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <div class="list-head">
        <select
          aria-label="Method"
          value={method}
          onChange={(event) => {
            method.value = event.currentTarget.value;
          }}
        >
          {METHODS.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <input
          class="search"
          aria-label="Path"
          spellcheck={false}
          autocomplete="off"
          value={path}
          onInput={(event) => {
            path.value = event.currentTarget.value;
          }}
        />
        <button type="submit" class="primary">
          Send
        </button>
      </div>
      {method.value !== 'GET' && (
        <textarea
          class="code"
          aria-label="Body"
          spellcheck={false}
          autocapitalize="off"
          rows={4}
          value={body}
          onInput={(event) => {
            body.value = event.currentTarget.value;
          }}
        />
      )}
    </form>
  );
}

function ExchangeView({ exchange: state }: { exchange: Exchange }) {
  switch (state.kind) {
    case 'none':
      return (
        <div class="empty">
          <p class="empty-title">A provider’s HTTP API, on any date</p>
          <p>
            It runs in this browser, on its own objects. Choose an example, then change the date:
            the changes of that day are highlighted.
          </p>
        </div>
      );
    case 'asking':
      return <p class="empty">Asking…</p>;
    case 'failed':
      return <ProblemNote title="The provider did not answer." problem={state.problem} />;
    case 'answered':
      return (
        <>
          <AnswerView answer={state.answer} other={state.before} mark="+" />
          {state.before !== null && isDifferent(state.before, state.answer) && (
            <AnswerView answer={state.before} other={state.answer} mark="−" />
          )}
        </>
      );
  }
}

function AnswerView(props: {
  readonly answer: Answer;
  readonly other: Answer | null;
  readonly mark: string;
}) {
  const { answer, other, mark } = props;
  const known = new Set(other?.lines.map(bare));
  return (
    <section class="card" aria-label={`Answer on ${answer.date}`}>
      <p class="result-facts">
        <strong>{answer.status}</strong>
        <span>{answer.date}</span>
        {other !== null && !isDifferent(answer, other) && <span>same as the day before</span>}
      </p>
      {answer.headers.map(([name, value]) => (
        <p key={name} class="answer-header">
          <code>
            {name}: {value}
          </code>
        </p>
      ))}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards need to scroll a long answer */}
      <pre class="answer" tabIndex={0}>
        {answer.lines.map((line, index) => {
          const isNew = other !== null && !known.has(bare(line));
          return (
            <span key={index} class={isNew ? 'answer-line answer-new' : 'answer-line'}>
              {isNew ? `${mark} ` : '  '}
              {line}
              {'\n'}
            </span>
          );
        })}
      </pre>
    </section>
  );
}

function Today({ at }: { at: string }) {
  const entries = scheduleOf(at);
  const today = entries.filter(({ entry }) => entry.date === at);
  const inForce = entries.filter(({ isInForce }) => isInForce).length;
  return (
    <div class="card">
      <p class="result-facts" role="status">
        <strong>{at}</strong>
        <span>
          {inForce} of {entries.length} changes in force
        </span>
      </p>
      {today.map(({ entry }) => (
        <p key={entry.id}>{entry.title}</p>
      ))}
      <details>
        <summary>The schedule</summary>
        <ul class="schedule">
          {entries.map(({ entry, isInForce }) => (
            <li key={entry.id} data-in-force={isInForce ? '' : undefined}>
              <button
                type="button"
                class="quiet"
                onClick={() => {
                  date.value = entry.date;
                  if (method.value === 'GET') void send();
                }}
              >
                {entry.date}
              </button>{' '}
              {entry.title}
            </li>
          ))}
        </ul>
      </details>
      <div class="actions">
        <button type="button" onClick={() => void remember()}>
          {bookmark.value === null ? 'Remember this state' : 'Remember again'}
        </button>
        {bookmark.value !== null && (
          <button type="button" onClick={() => void goBack()}>
            Restore it
          </button>
        )}
      </div>
    </div>
  );
}

function isDifferent(one: Answer, other: Answer): boolean {
  return one.status !== other.status || one.lines.join() !== other.lines.join();
}

/** Removes the comma at the end of a line, so that lines compare equal whatever follows them. */
function bare(line: string): string {
  return line.replace(/,$/, '');
}
