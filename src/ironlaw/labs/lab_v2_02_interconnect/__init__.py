"""Lab V2-02, Which Cliff?"""
