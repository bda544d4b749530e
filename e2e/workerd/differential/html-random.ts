// Random documents: what a rewriter's handlers are called with, and what they make of them.

import { events, rewritten } from './html-answers.ts';
import type { Untyped } from './surface-answers.ts';

/** Pieces that meet in ways which nobody writes. */
const PIECES = (
  '<|>|/|=|"|\'|-|--|-->|!|<!|<!--|--!>|]|]]>|<![CDATA[|<?|</|/>| |\n|a|b|x=|<a|<b |</a>|</b>|<p>|</p>|<br>|<div>|</div>|' +
  '<svg>|</svg>|<math>|</math>|<mi>|</mi>|<title>|</title>|<style>|</style>|<script>|</script>|<script|</script|<!--<script|' +
  '<textarea>|</textarea>|<xmp>|</xmp>|<desc>|</desc>|<font color=x>|<g/>|<li>|<ul>|</ul>|<!doctype html>|<!DOCTYPE |public|' +
  'system|&amp;|t|é|<foreignObject>|</foreignObject>|<annotation-xml encoding=text/html>|</annotation-xml>|<select>|' +
  '</select>|<input>|<template>|</template>|<esi:include>|<plaintext|<A B=C d="e" >|</A >|<i/>'
).split('|');

/** Numbers from 0 to 1, the same for the same seed. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Documents by their seeds. */
function randomDocument(seed: number): string {
  const next = numbers(seed);
  for (let i = 0; i < 3; i++) next(); // seeds that are near each other begin alike
  const count = 1 + Math.floor(next() * 20);
  return Array.from({ length: count }, () => PIECES[Math.floor(next() * PIECES.length)]).join('');
}

/** Handlers that change whatever they get, by selectors of several kinds. */
function changed(html: string): Promise<string> {
  let count = 0;
  const calls = ['before', 'after', 'prepend', 'append', 'setInnerContent', 'replace', 'remove'];
  const change = (token: Untyped, among: readonly string[]) => {
    const call = among[count++ % among.length]!;
    token[call](`[${call} ${count}]`);
  };
  return rewritten(html, (rewriter) =>
    rewriter
      .on('a, p > b, svg *', { element: (element: Untyped) => change(element, calls) })
      .on('div', {
        element: (element: Untyped) => {
          element.setAttribute('n', `${count}`);
          element.onEndTag((tag: Untyped) => change(tag, ['before', 'after', 'remove']));
        },
        text: (chunk: Untyped) => {
          if (chunk.lastInTextNode) chunk.after('|');
        },
      })
      .on('p', { comments: (comment: Untyped) => change(comment, ['before', 'after', 'replace']) })
      .on('li:nth-child(2), b:nth-of-type(2)', {
        element: (element: Untyped) => {
          element.tagName = 'renamed';
        },
      }),
  );
}

export interface RandomAnswer {
  readonly html: string;
  /** The calls of handlers that change nothing. */
  readonly events: unknown;
  readonly changed: unknown;
}

/** The answers for each document; of an error, its class. */
export async function randomAll(from = 1, count = 400): Promise<RandomAnswer[]> {
  const answers: RandomAnswer[] = [];
  for (let seed = from; seed < from + count; seed++) {
    const html = randomDocument(seed);
    answers.push({
      html,
      events: withoutMessage(await events(html)),
      changed: withoutMessage(await changed(html)),
    });
  }
  return answers;
}

function withoutMessage(answer: unknown): unknown {
  if (Array.isArray(answer)) return answer.map(withoutMessage);
  return typeof answer === 'string' && answer.startsWith('TypeError: ') ? 'TypeError' : answer;
}
