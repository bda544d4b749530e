// Lets the visitor call the object: forms call its methods, send requests and open a socket.

import { useSignal } from '@preact/signals';
import { goTo } from './code-pane.tsx';
import { type Method, PARAMETERS_MAX, type Parameter, type ParameterKind } from './outline.ts';
import { isSandboxed, project } from './project.ts';
import {
  callMethod,
  hearSocket,
  make,
  outline,
  placeIn,
  runner,
  runState,
  target,
} from './session.ts';

export function CallPanel() {
  const state = runState.value;
  return (
    <section class="side-panel" aria-label="Call">
      <h2>Call it</h2>
      {state.kind === 'idle' && (
        <p class="empty">
          {isSandboxed(project.value)
            ? 'This code has not run. Read it first.'
            : 'Nothing runs. Press “Run”.'}
        </p>
      )}
      {state.kind === 'starting' && <p class="empty">Starting the objects…</p>}
      {state.kind === 'failed' && <Failed />}
      {runner.value !== null && <Forms />}
    </section>
  );
}

function Failed() {
  const state = runState.value;
  if (state.kind !== 'failed') return null;
  const { code, message, stack } = state.failure;
  const place = placeIn(message) ?? placeIn(stack);
  return (
    <div class="problem" role="alert">
      <p class="problem-title">
        {state.runner === null ? 'The code does not run.' : 'The version before runs on.'}
      </p>
      <p>
        <code class="problem-code">{code}</code> {message}
      </p>
      {place !== null && (
        <button type="button" class="link" onClick={() => goTo(place)}>
          Go to line {place.line} of {place.path}
        </button>
      )}
    </div>
  );
}

function Forms() {
  const { className, name } = target.value;
  const methods = outline.value.find((one) => one.name === className)?.methods ?? [];
  return (
    <>
      <div class="target">
        <select
          aria-label="Class"
          value={className}
          onChange={({ currentTarget: { value } }) => {
            target.value = { className: value, name };
          }}
        >
          {runner.value?.classes.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
        <input
          aria-label="Name of the object"
          value={name}
          onInput={({ currentTarget: { value } }) => {
            target.value = { className, name: value };
          }}
        />
      </div>
      {methods.map((method) => (
        <MethodForm key={`${className}.${method.name}`} method={method} />
      ))}
      <RequestForm />
    </>
  );
}

function MethodForm({ method: { name, parameters } }: { method: Method }) {
  const texts = useSignal<readonly (string | undefined)[]>([]);
  const fields = fieldsOf(parameters, texts.value);
  const kindOf = (index: number) => parameters[index]?.kind ?? 'any';
  const submit = (event: Event) => {
    event.preventDefault();
    const args = fields.map((_, index) => argumentOf(texts.value[index] ?? '', kindOf(index)));
    // Arguments left out at the end are not passed.
    while (args.length > 0 && args.at(-1) === undefined) args.pop();
    void callMethod(target.value, name, args);
  };
  return (
    <form class="method" onSubmit={submit}>
      <button type="submit">{name}</button>
      {fields.map((label, index) => (
        <input
          key={index}
          aria-label={`${label} of ${name}`}
          placeholder={label}
          title={`${TITLES[kindOf(index)]}. Empty: the default`}
          {...(kindOf(index) === 'number' && NUMBER_FIELD)}
          autocomplete="off"
          value={texts.value[index] ?? ''}
          onInput={({ currentTarget: { value } }) => {
            const next = [...texts.value];
            next[index] = value;
            texts.value = next;
          }}
        />
      ))}
    </form>
  );
}

/** Returns the labels of the fields, one for each argument. A rest parameter always has an empty field at its end. */
function fieldsOf(
  parameters: readonly Parameter[],
  texts: readonly (string | undefined)[],
): string[] {
  const labels = parameters.map(({ label }) => label);
  if (parameters.at(-1)?.isRest !== true) return labels;
  const wanted = Math.min(texts.findLastIndex(Boolean) + 2, PARAMETERS_MAX);
  while (labels.length < wanted) labels.push(`argument ${labels.length + 1}`);
  return labels;
}

/** The attributes of a text field for numbers in JSON. The browser's number field would refuse a number like 1e999. */
const NUMBER_FIELD = {
  inputMode: 'decimal',
  pattern: '-?[0-9]+([.][0-9]+)?([eE][+\\-]?[0-9]+)?',
} as const;

const TITLES: Readonly<Record<ParameterKind, string>> = {
  number: 'A number',
  text: 'Text, or a JSON string',
  any: 'JSON, or text',
};

/** Parses a field as JSON if it is JSON of this kind; else returns the text, and undefined for an empty field. */
function argumentOf(text: string, kind: ParameterKind): unknown {
  if (text.trim() === '') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return kind === 'text' && typeof value !== 'string' ? text : value;
  } catch {
    return text;
  }
}

function RequestForm() {
  const method = useSignal('GET');
  const url = useSignal('/');
  const body = useSignal('');
  const line = useSignal('');
  const object = target.value;
  return (
    <details class="request">
      <summary>Requests, sockets</summary>
      <form
        class="method"
        onSubmit={(event) => {
          event.preventDefault();
          const request = { method: method.value, url: url.value, body: body.value };
          void make(`${method.value} ${url.value}`, ({ calls }) => calls.fetch(object, request));
        }}
      >
        <button type="submit">fetch</button>
        <select
          aria-label="Method of the request"
          value={method}
          onChange={({ currentTarget: { value } }) => {
            method.value = value;
          }}
        >
          {['GET', 'POST', 'PUT', 'DELETE'].map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <input
          aria-label="Path of the request"
          value={url}
          onInput={({ currentTarget: { value } }) => {
            url.value = value;
          }}
        />
        {method.value !== 'GET' && (
          <input
            aria-label="Body of the request"
            placeholder="body"
            value={body}
            onInput={({ currentTarget: { value } }) => {
              body.value = value;
            }}
          />
        )}
      </form>
      <form
        class="method"
        onSubmit={(event) => {
          event.preventDefault();
          const text = line.value;
          hearSocket(`→ ${text}`);
          void runner.value?.calls.send(text);
        }}
      >
        <button
          type="button"
          onClick={() =>
            void make(`socket ${url.value}`, ({ calls }) =>
              calls.openSocket(object, url.value, hearSocket),
            )
          }
        >
          Open a socket
        </button>
        <input
          aria-label="Text for the socket"
          placeholder="text"
          value={line}
          onInput={({ currentTarget: { value } }) => {
            line.value = value;
          }}
        />
        <button type="submit">Send</button>
      </form>
    </details>
  );
}
