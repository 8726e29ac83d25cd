package client

import (
	"container/list"
	"slices"
	"sync"
)

// Bounds of the remembered answers: a console polls some twenty queries, and
// queries over moving times must not pile up.
const (
	maxAnswers     = 64
	maxAnswerBytes = 2 << 20 // of bodies as received
	// largeBody is the size from which the body is remembered instead of its value: lists of
	// records take several times as much when they are decoded.
	largeBody = 16 << 10
)

// answer is an answer with its tag: its value, or the body of a large one.
type answer struct {
	etag  string
	value any
	body  []byte
	size  int
}

// newAnswer returns what is remembered of a response with that body and value.
func newAnswer(etag string, body []byte, value any) answer {
	if len(body) < largeBody {
		return answer{etag: etag, value: value, size: len(body)}
	}
	return answer{etag: etag, body: slices.Clone(body), size: len(body)} // without the buffer's spare room
}

// answers remembers the last used answers. The zero value is ready.
type answers struct {
	mu    sync.Mutex
	at    map[string]*list.Element
	order list.List // of *remembered, last used first
	bytes int
}

type remembered struct {
	key string
	answer
}

func (a *answers) get(key string) answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, ok := a.at[key]
	if !ok {
		return answer{}
	}
	a.order.MoveToFront(e)
	return e.Value.(*remembered).answer
}

func (a *answers) put(key string, v answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e, ok := a.at[key]; ok {
		a.drop(e)
	}
	if v.size > maxAnswerBytes {
		return
	}
	if a.at == nil {
		a.at = map[string]*list.Element{}
	}
	a.at[key] = a.order.PushFront(&remembered{key, v})
	a.bytes += v.size
	for a.order.Len() > maxAnswers || a.bytes > maxAnswerBytes {
		a.drop(a.order.Back())
	}
}

func (a *answers) drop(e *list.Element) {
	r := e.Value.(*remembered)
	a.order.Remove(e)
	delete(a.at, r.key)
	a.bytes -= r.size
}

func (a *answers) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.order.Init()
	a.at, a.bytes = nil, 0
}
