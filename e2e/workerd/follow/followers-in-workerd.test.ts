// The server's side of following on workerd.

import { describe } from 'vitest';
import { testFollowers } from './followers.suite.ts';
import { roomsInWorkerd } from './rooms.ts';

describe('followers in workerd', () => testFollowers(roomsInWorkerd));
