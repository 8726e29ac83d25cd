package client

import (
	"container/list"
	"sync"
)

// Bounds of the remembered answers: a console polls some twenty queries, and
// queries over moving times must not pile up.
const (
	maxAnswers     = 64
	maxAnswerBytes = 8 << 20 // of bodies as received
)

// answer is the value of an answer and its tag.
type answer struct {
	etag  string
	value any
	size  int
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
